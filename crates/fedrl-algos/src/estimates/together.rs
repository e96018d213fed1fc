//! Estimates of trainings that go on side by side, made together: those of several seeds, say. What each of
//! them asks for waits until all have asked, and then fills the lanes of a processor, or one dispatch of a GPU.

use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use fedrl_core::Scalar;
use fedrl_core::random::Key;
use fedrl_engine::{EngineError, Rows, for_blocks};

use super::{Corrected, Estimated, Estimates, Request};
use crate::Agent;
use crate::estimator::Weighing;

/// One training's access to estimates that are made for all. The others do not wait for it any more once it is
/// dropped.
pub struct Together<F: Scalar> {
    gathering: Arc<Gathering<F>>,
    member: usize,
}

/// Where trainings wait for each other.
struct Gathering<F> {
    estimates: Box<dyn Estimates<F>>,
    /// The agents of every training.
    agents: Vec<Vec<Agent<F>>>,
    table: Mutex<Table<F>>,
    changed: Condvar,
}

/// What lies on the table: for every training, whether it is still there, what it asks, and what it is told.
struct Table<F> {
    present: Vec<bool>,
    asked: Vec<Option<Ask<F>>>,
    answers: Vec<Option<Result<Answer<F>, EngineError>>>,
}

/// What a training asks for.
struct Ask<F> {
    /// The numbers of its agents.
    agents: Vec<usize>,
    keys: Vec<Key>,
    numbers: Numbers,
    theta: Rows<F>,
    /// Nothing for plain gradients; θ′ for importance-weighted ones; θ′ and θ(α) for Hessian-aided ones.
    others: Vec<Rows<F>>,
}

/// Fresh gradients, and what corrects them where that was asked for.
type Answer<F> = (Estimated<F>, Option<Rows<F>>);

/// What has to be alike for requests to be one.
#[derive(Clone, Copy, PartialEq)]
struct Numbers {
    batch: usize,
    horizon: usize,
    weighing: Weighing,
    is_clip: Option<f64>,
}

impl<F: Scalar> Together<F> {
    /// An access for each of the trainings with these agents, to estimates of the policy that all of them share.
    pub fn new(estimates: Box<dyn Estimates<F>>, agents: Vec<Vec<Agent<F>>>) -> Vec<Self> {
        let members = agents.len();
        let table = Table {
            present: vec![true; members],
            asked: (0..members).map(|_| None).collect(),
            answers: (0..members).map(|_| None).collect(),
        };
        let gathering = Arc::new(Gathering { estimates, agents, table: Mutex::new(table), changed: Condvar::new() });
        (0..members).map(|member| Together { gathering: Arc::clone(&gathering), member }).collect()
    }

    fn ask(&self, request: &Request<F>, theta: &Rows<F>, others: Vec<Rows<F>>) -> Result<Answer<F>, EngineError> {
        let Request { agents, keys, batch, horizon, weighing, is_clip } = *request;
        let numbers = Numbers { batch, horizon, weighing, is_clip };
        let agents = agents.iter().map(|agent| agent.id).collect();
        self.gathering.ask(self.member, Ask { agents, keys: keys.to_vec(), numbers, theta: theta.clone(), others })
    }

    fn ask_corrected(
        &self,
        request: &Request<F>,
        theta: &Rows<F>,
        others: Vec<Rows<F>>,
    ) -> Result<Corrected<F>, EngineError> {
        let (fresh, corrections) = self.ask(request, theta, others)?;
        let Some(corrections) = corrections else { unreachable!("corrections are answered with corrections") };
        Ok(Corrected { fresh, corrections })
    }
}

impl<F: Scalar> Drop for Together<F> {
    fn drop(&mut self) {
        self.gathering.table().present[self.member] = false;
        self.gathering.changed.notify_all();
    }
}

impl<F: Scalar> Estimates<F> for Together<F> {
    fn repeat(&self, row: &[F], rows: usize) -> Rows<F> {
        self.gathering.estimates.repeat(row, rows)
    }

    fn gradients(&self, request: &Request<F>, theta: &Rows<F>) -> Result<Estimated<F>, EngineError> {
        Ok(self.ask(request, theta, Vec::new())?.0)
    }

    fn importance_corrected(
        &self,
        request: &Request<F>,
        theta: &Rows<F>,
        previous: &Rows<F>,
    ) -> Result<Corrected<F>, EngineError> {
        self.ask_corrected(request, theta, vec![previous.spread(theta.rows())])
    }

    fn hessian_corrected(
        &self,
        request: &Request<F>,
        theta: &Rows<F>,
        between: &Rows<F>,
        previous: &Rows<F>,
    ) -> Result<Corrected<F>, EngineError> {
        self.ask_corrected(request, theta, vec![previous.spread(theta.rows()), between.clone()])
    }

    fn block_size(&self) -> usize {
        usize::MAX
    }
}

impl<F: Scalar> Gathering<F> {
    /// The table. What is on it is whole whenever it is let go of.
    fn table(&self) -> MutexGuard<'_, Table<F>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until everybody who is there has asked; the last to come, or to notice, answers for all.
    fn ask(&self, member: usize, ask: Ask<F>) -> Result<Answer<F>, EngineError> {
        let mut table = self.table();
        table.asked[member] = Some(ask);
        loop {
            if let Some(answer) = table.answers[member].take() {
                return answer;
            }
            if table.complete() {
                let asked = table.take();
                drop(table);
                // It takes the table itself, at its end, too.
                Answering { gathering: self, open: asked.iter().map(|(member, _)| *member).collect() }.answer(asked);
                table = self.table();
            } else {
                table = self.changed.wait(table).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// The estimates of trainings that ask alike, one after the other.
    fn estimate(&self, asked: &[(usize, Ask<F>)]) -> Result<Answer<F>, EngineError> {
        let of_member = |(member, ask): &(usize, Ask<F>)| {
            let all = &self.agents[*member];
            ask.agents.iter().map(|&id| &all[id]).collect::<Vec<_>>()
        };
        let agents: Vec<&Agent<F>> = asked.iter().flat_map(of_member).collect();
        let keys: Vec<Key> = asked.iter().flat_map(|(_, ask)| ask.keys.clone()).collect();
        let stack = |rows: &dyn Fn(&Ask<F>) -> Rows<F>| {
            let all: Vec<Rows<F>> = asked.iter().map(|(_, ask)| rows(ask)).collect();
            Rows::stack(&all.iter().collect::<Vec<_>>())
        };
        let theta = stack(&|ask| ask.theta.clone());
        let Numbers { batch, horizon, weighing, is_clip } = asked[0].1.numbers;
        let others = asked[0].1.others.iter().enumerate().map(|(i, _)| stack(&|ask| ask.others[i].clone()));
        let others: Vec<Rows<F>> = others.collect();
        let places: Vec<usize> = (0..agents.len()).collect();
        let blocks = for_blocks(&places, self.estimates.block_size(), |block| {
            let block = block[0]..block[0] + block.len();
            let (agents, keys) = (&agents[block.clone()], &keys[block.clone()]);
            let request = Request { agents, keys, batch, horizon, weighing, is_clip };
            let part = |rows: &Rows<F>| rows.part(block.clone());
            let answer = match &others[..] {
                [] => (self.estimates.gradients(&request, &part(&theta))?, None),
                [previous] => {
                    let (theta, previous) = (part(&theta), part(previous));
                    let corrected = self.estimates.importance_corrected(&request, &theta, &previous)?;
                    (corrected.fresh, Some(corrected.corrections))
                }
                [previous, between, ..] => {
                    let (theta, previous, between) = (part(&theta), part(previous), part(between));
                    let corrected = self.estimates.hessian_corrected(&request, &theta, &between, &previous)?;
                    (corrected.fresh, Some(corrected.corrections))
                }
            };
            Ok::<_, EngineError>(vec![answer])
        })?;
        let (fresh, corrections): (Vec<Estimated<F>>, Vec<Option<Rows<F>>>) = blocks.into_iter().unzip();
        let corrections: Option<Vec<Rows<F>>> = corrections.into_iter().collect();
        Ok((Estimated::join(fresh), corrections.map(|rows| Rows::stack(&rows.iter().collect::<Vec<_>>()))))
    }
}

impl<F: Scalar> Table<F> {
    /// Whether everybody who is there has asked, and anybody is.
    fn complete(&self) -> bool {
        let waits = |(present, asked): (&bool, &Option<Ask<F>>)| *present && asked.is_none();
        self.asked.iter().any(Option::is_some) && !self.present.iter().zip(&self.asked).any(waits)
    }

    /// What was asked, by whom.
    fn take(&mut self) -> Vec<(usize, Ask<F>)> {
        self.asked.iter_mut().enumerate().filter_map(|(member, ask)| Some((member, ask.take()?))).collect()
    }
}

/// One training's answering for all. Whoever has no answer when it ends is told so, so that nobody waits for ever.
struct Answering<'a, F: Scalar> {
    gathering: &'a Gathering<F>,
    open: Vec<usize>,
}

impl<F: Scalar> Answering<'_, F> {
    /// Answers those that ask alike at once.
    fn answer(mut self, mut asked: Vec<(usize, Ask<F>)>) {
        while !asked.is_empty() {
            let (group, others): (Vec<_>, Vec<_>) = {
                let first = (asked[0].1.numbers, asked[0].1.others.len());
                asked.into_iter().partition(|(_, ask)| (ask.numbers, ask.others.len()) == first)
            };
            asked = others;
            let answer = self.gathering.estimate(&group);
            let mut table = self.gathering.table();
            let mut start = 0;
            for (member, ask) in &group {
                let rows = start..start + ask.agents.len();
                start = rows.end;
                table.answers[*member] = Some(answer.as_ref().map(|all| part(all, rows)).map_err(Clone::clone));
                self.open.retain(|open| open != member);
            }
        }
    }
}

impl<F: Scalar> Drop for Answering<'_, F> {
    fn drop(&mut self) {
        let mut table = self.gathering.table();
        for &member in &self.open {
            table.answers[member] = Some(Err(EngineError::Device("a training beside this one broke down".into())));
        }
        self.gathering.changed.notify_all();
    }
}

/// What one training is told of what all are.
fn part<F: Scalar>((fresh, corrections): &Answer<F>, rows: Range<usize>) -> Answer<F> {
    let fresh = Estimated {
        gradients: fresh.gradients.part(rows.clone()),
        lived: fresh.lived[rows.clone()].to_vec(),
        importance: fresh.importance.as_ref().map(|importance| importance[rows.clone()].to_vec()),
    };
    (fresh, corrections.as_ref().map(|corrections| corrections.part(rows)))
}
