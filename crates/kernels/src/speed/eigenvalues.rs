//! Eigenvalues of a symmetric matrix: Householder reflections to a tridiagonal one, then implicit QR steps on that.
//!
//! Single precision throughout, so every sum and product is in libvmaf's order.

use super::dimensions::VARIABLES;
use super::linear::Matrix;

/// Elements are zero if they are this much smaller than their neighbours on the diagonal.
const NEGLIGIBLE: f64 = 1e-6;
const MAX_STEPS: usize = 500;

type Vector = [f32; VARIABLES];

/// A symmetric tridiagonal matrix.
struct Tridiagonal {
    diagonal: Vector,
    /// The last element is unused.
    below: Vector,
}

/// Destroys the matrix.
#[inline(always)]
pub(super) fn eigenvalues(matrix: &mut Matrix) -> Vector {
    let mut tridiagonal = tridiagonalize(matrix);
    tridiagonal.diagonalize();
    tridiagonal.diagonal
}

#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // As in libvmaf.
fn tridiagonalize(matrix: &mut Matrix) -> Tridiagonal {
    let mut below = [0.0; VARIABLES];
    for column in 0..VARIABLES - 2 {
        let start = column + 1;
        let mut v: Vector = std::array::from_fn(|row| if row < start { 0.0 } else { matrix[row][column] });
        let scale = reflect(&mut v, start);
        below[column] = v[start];
        if scale == 0.0 {
            continue;
        }
        v[start] = 1.0;
        // The submatrix stays symmetric to the last bit, so its rows serve as columns: a row of sums at a time.
        let mut x = [0.0; VARIABLES];
        for other in start..VARIABLES {
            for row in start..VARIABLES {
                x[row] += scale * matrix[other][row] * v[other];
            }
        }
        let dot = (start..VARIABLES).fold(0.0, |sum, row| sum + x[row] * v[row]);
        let alpha = (-0.5 * f64::from(scale) * f64::from(dot)) as f32;
        for row in start..VARIABLES {
            x[row] += alpha * v[row];
        }
        for row in start..VARIABLES {
            for column in start..VARIABLES {
                matrix[row][column] -= x[row] * v[column] + v[row] * x[column];
            }
        }
    }
    below[VARIABLES - 2] = matrix[VARIABLES - 1][VARIABLES - 2];
    Tridiagonal { diagonal: std::array::from_fn(|index| matrix[index][index]), below }
}

/// Makes of a vector its reflection: the first element becomes the vector's norm with a sign, the others the direction without
/// its first element, which is 1. Returns the reflection's scale, 0 if there is nothing to reflect.
#[inline(always)]
fn reflect(v: &mut Vector, start: usize) -> f32 {
    let rest = v[start + 1..].iter().fold(0.0, |sum, element| sum + element * element).sqrt();
    if rest == 0.0 {
        return 0.0;
    }
    let first = v[start];
    let norm = hypotenuse(first, rest);
    let reflected = if first >= 0.0 { -norm } else { norm };
    let divisor = first - reflected;
    if divisor != 0.0 {
        for element in &mut v[start..] {
            *element /= divisor;
        }
        v[start] = reflected;
    }
    (reflected - first) / reflected
}

#[inline(always)]
fn hypotenuse(x: f32, y: f32) -> f32 {
    (x * x + y * y).sqrt()
}

impl Tridiagonal {
    #[inline(always)]
    fn diagonalize(&mut self) {
        self.drop_negligible(0, VARIABLES - 1);
        let mut last = VARIABLES - 1;
        let mut steps = 0;
        while last > 0 && steps < MAX_STEPS {
            if self.below[last - 1] == 0.0 {
                last -= 1;
                continue;
            }
            let first = (1..last).rev().find(|&index| self.below[index - 1] == 0.0).unwrap_or(0);
            self.step(first, last);
            self.drop_negligible(first, last);
            steps += 1;
        }
    }

    #[inline(always)]
    fn drop_negligible(&mut self, first: usize, last: usize) {
        for index in first..last {
            let neighbours = self.diagonal[index].abs() + self.diagonal[index + 1].abs();
            if f64::from(self.below[index].abs()) < NEGLIGIBLE * f64::from(neighbours) {
                self.below[index] = 0.0;
            }
        }
    }

    /// A QR step on the rows `first` to `last`.
    #[inline(always)]
    fn step(&mut self, first: usize, last: usize) {
        let (diagonal, below) = (&mut self.diagonal, &mut self.below);
        let (mut current, mut side) = (diagonal[first], below[first]);
        let mut shift = shift(diagonal[last - 1], diagonal[last], below[last - 1]);
        if NEGLIGIBLE * f64::from(shift.abs()) > f64::from(current.abs() + side.abs()) {
            shift = 0.0;
        }
        let (mut x, mut z) = (current - shift, side);
        for index in first..last {
            let (c, s) = rotation(x, z);
            let next = diagonal[index + 1];
            if index > first {
                below[index - 1] = c * x - s * z;
            }
            let (left, right) = (c * current - s * side, s * next - c * side);
            let (upper, lower) = (s * current + c * side, s * side + c * next);
            diagonal[index] = c * left + s * right;
            x = c * upper - s * lower;
            current = s * upper + c * lower;
            if index + 1 < last {
                let beyond = below[index + 1];
                z = -s * beyond;
                side = c * beyond;
                below[index + 1] = side;
            }
        }
        diagonal[last] = current;
        below[last - 1] = x;
    }
}

/// The eigenvalue of two rows that is closer to the end of their diagonal.
#[inline(always)]
fn shift(above: f32, end: f32, below: f32) -> f32 {
    let half = (above - end) / 2.0;
    if half > 0.0 {
        end - below * (below / (half + hypotenuse(half, below)))
    } else if half == 0.0 {
        end - below.abs()
    } else {
        end + below * (below / (-half + hypotenuse(half, below)))
    }
}

/// The cosine and sine that rotate `b` away.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // As in libvmaf.
fn rotation(a: f32, b: f32) -> (f32, f32) {
    let reciprocal = |tangent: f32| (1.0 / f64::from(1.0 + tangent * tangent).sqrt()) as f32;
    if b == 0.0 {
        (1.0, 0.0)
    } else if b.abs() > a.abs() {
        let tangent = -a / b;
        let sine = reciprocal(tangent);
        (sine * tangent, sine)
    } else {
        let tangent = -b / a;
        let cosine = reciprocal(tangent);
        (cosine, cosine * tangent)
    }
}
