//! Rows of numbers on the host.

/// A row-major matrix: a row per replica, a column per parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix<F> {
    columns: usize,
    data: Vec<F>,
}

impl<F: Copy> Matrix<F> {
    /// The matrix made of these rows, which are equally long.
    pub fn from_rows<R: AsRef<[F]>>(rows: impl IntoIterator<Item = R>) -> Self {
        let mut data = Vec::new();
        let mut columns = 0;
        for row in rows {
            columns = row.as_ref().len();
            data.extend_from_slice(row.as_ref());
        }
        assert!(columns == 0 || data.len().is_multiple_of(columns), "rows of different lengths");
        Matrix { columns, data }
    }

    /// `rows` copies of one row.
    pub fn repeat(row: &[F], rows: usize) -> Self {
        Matrix { columns: row.len(), data: row.repeat(rows) }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.data.len().checked_div(self.columns).unwrap_or(0)
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Row `index`.
    pub fn row(&self, index: usize) -> &[F] {
        &self.data[index * self.columns..][..self.columns]
    }

    /// Row `index`, to be changed.
    pub fn row_mut(&mut self, index: usize) -> &mut [F] {
        &mut self.data[index * self.columns..][..self.columns]
    }

    /// Every row, to be changed.
    pub fn rows_mut(&mut self) -> impl Iterator<Item = &mut [F]> {
        self.data.chunks_exact_mut(self.columns.max(1))
    }

    /// All numbers, row after row.
    pub fn as_slice(&self) -> &[F] {
        &self.data
    }
}
