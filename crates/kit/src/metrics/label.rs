//! Labels of metrics, and sets of them.

use std::fmt;
use std::hash::Hash;

use prometheus_client::encoding::{EncodeLabelSet, LabelSetEncoder};

/// One label with a bounded set of values. Made by [`closed_label!`](crate::closed_label) or
/// [`OpenLabelValue`](super::OpenLabelValue).
pub trait MetricLabel: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static {
    /// The label's name, as in `{outcome="…"}`.
    const NAME: &'static str;

    /// Static, so that no value that was built at run time can be passed.
    fn value(&self) -> &'static str;

    /// All values of a closed label; empty for an open one.
    fn all() -> Vec<Self>;
}

/// One to three labels as a tuple.
pub trait MetricLabels: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static {
    fn pairs(&self) -> Vec<(&'static str, &'static str)>;

    /// All combinations if all labels are closed, else empty.
    fn all() -> Vec<Self>;
}

impl<A: MetricLabel> MetricLabels for (A,) {
    fn pairs(&self) -> Vec<(&'static str, &'static str)> {
        vec![(A::NAME, self.0.value())]
    }

    fn all() -> Vec<Self> {
        A::all().into_iter().map(|a| (a,)).collect()
    }
}

impl<A: MetricLabel, B: MetricLabel> MetricLabels for (A, B) {
    fn pairs(&self) -> Vec<(&'static str, &'static str)> {
        vec![(A::NAME, self.0.value()), (B::NAME, self.1.value())]
    }

    fn all() -> Vec<Self> {
        let (first, second) = (A::all(), B::all());
        first.iter().flat_map(|a| second.iter().map(move |b| (a.clone(), b.clone()))).collect()
    }
}

impl<A: MetricLabel, B: MetricLabel, C: MetricLabel> MetricLabels for (A, B, C) {
    fn pairs(&self) -> Vec<(&'static str, &'static str)> {
        vec![(A::NAME, self.0.value()), (B::NAME, self.1.value()), (C::NAME, self.2.value())]
    }

    fn all() -> Vec<Self> {
        let (front, last) = (<(A, B)>::all(), C::all());
        front.iter().flat_map(|(a, b)| last.iter().map(move |c| (a.clone(), b.clone(), c.clone()))).collect()
    }
}

/// A tuple of labels as the key of a metric family.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LabelSet<L>(pub L);

impl<L: MetricLabels> EncodeLabelSet for LabelSet<L> {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> fmt::Result {
        // To Prometheus, a label without a value is the same as none.
        for pair in self.0.pairs().into_iter().filter(|(_, value)| !value.is_empty()) {
            prometheus_client::encoding::EncodeLabel::encode(&pair, encoder.encode_label())?;
        }
        Ok(())
    }
}

/// Declares a label whose values are an enum.
///
/// ```
/// vmafx_kit::closed_label! {
///     pub enum JobOutcome: "outcome" {
///         Succeeded = "succeeded",
///         Failed = "failed",
///     }
/// }
/// assert_eq!(vmafx_kit::metrics::MetricLabel::value(&JobOutcome::Failed), "failed");
/// ```
#[macro_export]
macro_rules! closed_label {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident: $label:literal {
            $($(#[$variant_meta:meta])* $variant:ident = $value:literal),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        $vis enum $name {
            $($(#[$variant_meta])* $variant),+
        }

        impl $crate::metrics::MetricLabel for $name {
            const NAME: &'static str = $label;

            fn value(&self) -> &'static str {
                match self {
                    $(Self::$variant => $value),+
                }
            }

            fn all() -> Vec<Self> {
                vec![$(Self::$variant),+]
            }
        }
    };
}
