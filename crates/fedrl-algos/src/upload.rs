//! What agents send: their rows, wherever these lie.

use fedrl_core::Scalar;
use fedrl_engine::{EngineError, Row, Rows};
use fedrl_federation::{Message, mean};

/// One agent's row of numbers.
#[derive(Debug, Clone)]
pub struct Upload<F>(pub(crate) Row<F>);

impl<F: Scalar> Upload<F> {
    /// Every row on its own.
    ///
    /// # Errors
    /// The device failed.
    pub(crate) fn of(rows: Rows<F>) -> Result<Vec<Self>, EngineError> {
        Ok(rows.split()?.into_iter().map(Upload).collect())
    }

    /// The mean of the rows; empty for none.
    ///
    /// # Errors
    /// The device failed.
    pub(crate) fn mean(uploads: &[Self]) -> Result<Vec<F>, EngineError> {
        let rows: Vec<&Row<F>> = uploads.iter().map(|Upload(row)| row).collect();
        Row::mean_on_device(&rows).unwrap_or_else(|| Ok(mean(rows.iter().filter_map(|row| row.numbers()))))
    }
}

impl<F: Scalar> Message for Upload<F> {
    fn bytes(&self) -> u64 {
        4 * self.0.columns() as u64
    }

    fn is_finite(&self) -> bool {
        self.0.is_finite()
    }
}
