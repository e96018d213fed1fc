//! What `fedrl compare` says of published returns.

use fedrl_report::compare::{Comparison, Group, LAST_EPISODES, PublishedOrder, Verdict};

use super::compare::{cells, none, number, signed};
use crate::output::table;

/// Every group beside what is published of it, and whether the published order is ours; nothing where nothing is
/// published.
pub(super) fn sections(comparison: &Comparison) -> Vec<String> {
    let groups = &comparison.groups;
    if groups.iter().all(|group| group.published.is_none()) {
        return Vec::new();
    }
    let orders = comparison.published_orders();
    [Some(beside(groups)), (!orders.is_empty()).then(|| judged(&orders))].into_iter().flatten().collect()
}

fn beside(groups: &[Group]) -> String {
    let title = format!("last {LAST_EPISODES} episodes");
    let header = [&*title, "seeds", "mean", "95 %", "variance", "median", "published", "variance", "median", "source"];
    table(&header, groups.iter().map(row).collect(), 1)
}

fn row(group: &Group) -> Vec<String> {
    let ours = group.last_episodes.as_ref().map_or_else(
        || vec![none(); 4],
        |last| [cells(&last.mean, number), vec![number(last.variance), number(last.median)]].concat(),
    );
    let said = |value: Option<f64>| value.map_or_else(none, |value| value.to_string());
    let theirs = group.published.as_ref();
    let theirs = [
        said(theirs.map(|published| published.return_mean)),
        said(theirs.and_then(|published| published.return_variance)),
        said(theirs.and_then(|published| published.return_median)),
        theirs.map_or_else(none, |published| published.source.clone()),
    ];
    [vec![group.label.clone(), group.runs.len().to_string()], ours, theirs.into()].concat()
}

fn judged(orders: &[PublishedOrder]) -> String {
    let row = |order: &PublishedOrder| {
        let pair = format!("{} > {}", order.higher, order.lower);
        let theirs = format!("{:+}", order.published);
        let verdict = word(order.verdict).to_string();
        [vec![pair, theirs, order.ours.n.to_string()], cells(&order.ours, signed), vec![verdict]].concat()
    };
    let header = ["published order", "published", "pairs", "ours", "95 %", "the order"];
    let rows = table(&header, orders.iter().map(row).collect(), 1);
    let count = |verdict| orders.iter().filter(|order| order.verdict == verdict).count();
    let all = [Verdict::Holds, Verdict::Reversed, Verdict::WithinTheNoise, Verdict::Unknown];
    let counts = all.into_iter().filter(|verdict| count(*verdict) > 0);
    let counts: Vec<String> = counts.map(|verdict| format!("{} {}", word(verdict), count(verdict))).collect();
    format!("{rows}\nof {} published orders: {}", orders.len(), counts.join(", "))
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Reversed => "reversed",
        Verdict::WithinTheNoise => "within the noise",
        Verdict::Unknown => "unknown",
    }
}
