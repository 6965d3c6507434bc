//! The linear system of the covariance matrix: a QR decomposition by Householder reflections, and its solution for all blocks.
//!
//! Single precision throughout. A reflection is multiplied as a whole matrix, so every sum is in libvmaf's order.

use super::dimensions::VARIABLES;

/// Columns beyond [`VARIABLES`] fill vectors and are always zero.
const COLUMNS: usize = 32;

pub(super) type Matrix = [[f32; COLUMNS]; VARIABLES];

pub(super) const ZERO: Matrix = [[0.0; COLUMNS]; VARIABLES];

/// A matrix is singular if a divisor is smaller.
const SMALLEST_DIVISOR: f64 = 1e-6;

/// The matrix cannot be inverted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Singular;

/// Solves for all columns: `values` has a row of `columns` for each variable, and becomes the solution.
#[inline(always)]
pub(super) fn solve(
    matrix: &Matrix,
    values: &[f32],
    columns: usize,
    solution: &mut [f32],
) -> Result<(), Singular> {
    let (q, r) = decompose(matrix);
    for (row, sums) in q.iter().zip(solution.chunks_exact_mut(columns)) {
        sums.fill(0.0);
        for (factor, values) in row.iter().zip(values.chunks_exact(columns)) {
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += factor * value;
            }
        }
    }
    for row in (0..VARIABLES).rev() {
        let divisor = r[row][row];
        if f64::from(divisor.abs()) < SMALLEST_DIVISOR {
            return Err(Singular);
        }
        let (above, below) = solution.split_at_mut((row + 1) * columns);
        let target = &mut above[row * columns..];
        for (factor, known) in r[row][row + 1..VARIABLES].iter().zip(below.chunks_exact(columns)) {
            for (value, known) in target.iter_mut().zip(known) {
                *value -= known * factor;
            }
        }
        for value in target {
            *value /= divisor;
        }
    }
    Ok(())
}

/// An orthogonal matrix and an upper triangular one: the first times `matrix` is the second.
#[inline(always)]
fn decompose(matrix: &Matrix) -> (Matrix, Matrix) {
    let mut q = ZERO;
    for (index, row) in q.iter_mut().enumerate() {
        row[index] = 1.0;
    }
    let mut rest = *matrix;
    for step in 0..VARIABLES - 1 {
        for (index, row) in rest.iter_mut().enumerate() {
            if index < step {
                *row = [0.0; COLUMNS];
                row[index] = 1.0;
            } else {
                row[..step].fill(0.0);
            }
        }
        let mut v: [f32; VARIABLES] =
            std::array::from_fn(|row| if row < step { 0.0 } else { rest[row][step] });
        let norm = length(&v);
        v[step] += if matrix[step][step] >= 0.0 { norm } else { -norm };
        let norm = length(&v);
        let v = v.map(|element| element / norm);
        let reflection = reflection(&v);
        // The reflection leaves the rows before this step as they are, and its columns before this step are zero there.
        let first = if norm.is_normal() { step } else { 0 };
        rest = product(&reflection, &rest, first);
        q = product(&reflection, &q, first);
    }
    let r = product(&q, matrix, 0);
    (q, r)
}

#[inline(always)]
fn length(v: &[f32; VARIABLES]) -> f32 {
    v.iter().fold(0.0, |sum, element| sum + element * element).sqrt()
}

/// The unit matrix less twice the product of a vector with itself.
#[inline(always)]
fn reflection(v: &[f32; VARIABLES]) -> Matrix {
    let mut matrix = ZERO;
    for (row, elements) in matrix.iter_mut().enumerate() {
        for (element, other) in elements.iter_mut().zip(v) {
            *element = -2.0 * v[row] * other;
        }
        elements[row] += 1.0;
    }
    matrix
}

/// The product of two matrices, the left of which differs from the unit matrix only in rows and columns from `first`.
#[inline(always)]
fn product(left: &Matrix, right: &Matrix, first: usize) -> Matrix {
    let mut product = *right;
    for (left, sums) in left.iter().zip(&mut product).skip(first) {
        let mut row = [0.0; COLUMNS];
        for (factor, right) in left.iter().zip(right).skip(first) {
            for (sum, element) in row.iter_mut().zip(right) {
                *sum += factor * element;
            }
        }
        *sums = row;
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decomposed_matrix_is_solved() {
        let mut matrix = ZERO;
        for (row, elements) in matrix.iter_mut().enumerate() {
            for (column, element) in elements[..VARIABLES].iter_mut().enumerate() {
                *element = 1.0 / (1.0 + f32::from(u8::try_from(row.abs_diff(column)).unwrap()));
            }
        }
        let expected: Vec<f32> =
            (0..VARIABLES).map(|row| f32::from(u8::try_from(row).unwrap()) - 7.0).collect();
        let values: Vec<f32> =
            matrix.iter().map(|row| row.iter().zip(&expected).map(|(a, b)| a * b).sum()).collect();
        let mut solution = vec![0.0; VARIABLES];
        solve(&matrix, &values, 1, &mut solution).unwrap();
        assert!(solution.iter().zip(&expected).all(|(found, expected)| (found - expected).abs() < 1e-3));
        let mut without_last = ZERO;
        (0..VARIABLES - 1).for_each(|index| without_last[index][index] = 1.0);
        assert_eq!(solve(&without_last, &values, 1, &mut solution), Err(Singular));
    }
}
