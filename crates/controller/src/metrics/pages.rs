//! The two pages of metrics. Names of tenants tell one team of the others, so they need the token of the scraper.
//!
//! | the scraper                                                    | gets                                              |
//! |----------------------------------------------------------------|---------------------------------------------------|
//! | sends the token in `VMAFX_AUTH_METRICS_TOKEN_FILE`             | [`MetricsView::Tenants`]: the metrics by tenant   |
//! | sends no token, or there is no such file                       | [`MetricsView::Totals`]: the sums over all tenants |
//! | sends another token                                            | 401, so that a wrong token does not go unnoticed  |
//!
//! Both pages have the same names of metrics. Without names of tenants, a model that is an address or a path is `other`.

use std::fmt;

use vmafx_kit::metrics::Metrics;

use super::queue::QueueGauges;

/// Whether a page names tenants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricsView {
    Totals,
    Tenants,
}

#[derive(Debug)]
pub struct MetricsPages {
    /// On both pages.
    pub common: Metrics,
    pub(super) of_tenants: Metrics,
    pub(super) totals: Metrics,
}

impl MetricsPages {
    pub fn new(version: &str, gauges: &QueueGauges) -> Self {
        let mut pages = Self {
            common: Metrics::new(version),
            of_tenants: Metrics::section(),
            totals: Metrics::section(),
        };
        pages.of_tenants.collector(gauges.collector(MetricsView::Tenants));
        pages.totals.collector(gauges.collector(MetricsView::Totals));
        pages
    }

    pub fn encode(&self, view: MetricsView) -> Result<String, fmt::Error> {
        let section = match view {
            MetricsView::Totals => &self.totals,
            MetricsView::Tenants => &self.of_tenants,
        };
        self.common.encode_with(&[section])
    }
}
