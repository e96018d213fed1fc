"""The scalars that TensorBoard's own reader finds: {tag: [[step, value]..]}.

Usage: events.py DIRECTORY
"""

import json
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

# Size 0 keeps every value.
events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0})
events.Reload()
tags = events.Tags()["scalars"]
print(json.dumps({tag: [[event.step, event.value] for event in events.Scalars(tag)] for tag in tags}))
