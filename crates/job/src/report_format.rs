//! Formats of a per-frame report.

use crate::named::named;

/// The format of a per-frame report, from the file extension of its URI or file name. Without one it is JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReportFormat {
    #[default]
    Json,
    Csv,
    Html,
    /// As libvmaf writes it.
    Xml,
}

named!(ReportFormat, "report format", { Json = "json", Csv = "csv", Html = "html", Xml = "xml" });

/// A report whose file extension is not that of a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ends in .{ending}, which is not a report format; use .json, .csv, .html or .xml")]
pub struct UnknownReportFormat {
    pub ending: String,
}

impl ReportFormat {
    /// The format of a URI, whose query and fragment are ignored.
    pub fn of_uri(uri: &str) -> Result<Self, UnknownReportFormat> {
        let path = uri.split(['?', '#']).next().unwrap_or_default();
        Self::of_file_name(path.rsplit('/').next().unwrap_or_default())
    }

    /// The format of a file name; `.htm` is HTML too.
    pub fn of_file_name(name: &str) -> Result<Self, UnknownReportFormat> {
        match name.rsplit_once('.') {
            None => Ok(Self::default()),
            Some((_, ending)) if ending.eq_ignore_ascii_case("htm") => Ok(Self::Html),
            Some((_, ending)) => {
                ending.parse().map_err(|_| UnknownReportFormat { ending: ending.to_owned() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("s3://bucket/a/b.JSON", ReportFormat::Json)]
    #[case("https://host/r.csv?signature=x.y", ReportFormat::Csv)]
    #[case("https://host/r.HTML?sig=x.csv", ReportFormat::Html)]
    #[case("/data/r.xml#part", ReportFormat::Xml)]
    #[case("/data.d/report", ReportFormat::Json)]
    fn the_ending_tells_the_format(#[case] uri: &str, #[case] format: ReportFormat) {
        assert_eq!(ReportFormat::of_uri(uri), Ok(format));
    }

    #[rstest]
    #[case("a#b?c.csv", ReportFormat::Csv)]
    #[case("a.b.HTM", ReportFormat::Html)]
    fn a_file_name_has_no_query(#[case] name: &str, #[case] format: ReportFormat) {
        assert_eq!(ReportFormat::of_file_name(name), Ok(format));
    }

    #[rstest]
    #[case("s3://bucket/report.v2", "v2")]
    #[case("/data/report.", "")]
    #[case("/data/report.json.gz", "gz")]
    fn an_unknown_ending_is_refused(#[case] uri: &str, #[case] ending: &str) {
        assert_eq!(ReportFormat::of_uri(uri), Err(UnknownReportFormat { ending: ending.to_owned() }));
    }
}
