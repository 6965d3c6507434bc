//! The files of the dashboard, as the controller serves them.

use reqwest::header::HeaderMap;

use crate::controller::{Controller, READER};
use crate::http::Http;

async fn headers(http: &Http, method: &str, path: &str) -> (u16, HeaderMap, Vec<u8>) {
    let response = http.request(method, path).send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    (status, headers, response.bytes().await.unwrap().to_vec())
}

fn value<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).unwrap_or_else(|| panic!("no {name} in {headers:?}")).to_str().unwrap()
}

/// Every file that the page names.
fn named(page: &[u8]) -> Vec<String> {
    let page = std::str::from_utf8(page).unwrap();
    page.split('"').filter(|text| text.starts_with("/assets/")).map(str::to_owned).collect()
}

#[tokio::test]
async fn pages_and_files_need_no_token_and_confine_the_page_to_itself() {
    let controller = Controller::start(&[]).await;
    let http = Http::new(controller.http(), None);
    let (_, _, page) = headers(&http, "GET", "/").await;
    let mut paths: Vec<String> = named(&page);
    assert!(paths.len() >= 4, "{paths:?}");
    paths.extend(["/", "/jobs", "/jobs/7", "/nodes", "/sign-in"].map(str::to_owned));
    for path in &paths {
        for method in ["GET", "HEAD"] {
            let (status, headers, body) = headers(&http, method, path).await;
            assert_eq!(status, 200, "{method} {path}");
            assert_eq!(body.is_empty(), method == "HEAD", "{method} {path}");
            assert_eq!(
                value(&headers, "content-security-policy"),
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                 base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
                "{path}"
            );
            for (name, expected) in [
                ("x-content-type-options", "nosniff"),
                ("referrer-policy", "no-referrer"),
                ("cross-origin-opener-policy", "same-origin"),
                ("cross-origin-resource-policy", "same-origin"),
            ] {
                assert_eq!(value(&headers, name), expected, "{path}");
            }
            assert_eq!(headers.get("set-cookie"), None);
            let kept = value(&headers, "cache-control").contains("immutable");
            assert_eq!(kept, path.starts_with("/assets/"), "{path}");
        }
    }
    let inline = String::from_utf8(page).unwrap();
    assert!(
        !inline.contains("<style") && !inline.contains("style=") && !inline.contains("<script>"),
        "{inline}"
    );
}

#[tokio::test]
async fn a_file_is_sent_compressed_and_not_again() {
    let controller = Controller::start(&[]).await;
    let http = Http::new(controller.http(), None);
    let (_, _, page) = headers(&http, "GET", "/jobs").await;
    let script = named(&page).into_iter().find(|path| path.contains("/app-")).unwrap();
    let (_, plain, script_text) = headers(&http, "GET", &script).await;
    assert_eq!(value(&plain, "content-type"), "text/javascript; charset=utf-8");
    assert_eq!(plain.get("content-encoding"), None);

    let compressed = http.request("GET", &script).header("accept-encoding", "gzip").send().await.unwrap();
    assert_eq!(value(compressed.headers(), "content-encoding"), "gzip");
    assert_eq!(value(compressed.headers(), "vary"), "accept-encoding");
    assert!(compressed.bytes().await.unwrap().len() < script_text.len() / 2);

    for path in [script.as_str(), "/jobs"] {
        let (_, first, _) = headers(&http, "GET", path).await;
        let again = http.request("GET", path).header("if-none-match", value(&first, "etag"));
        let again = again.send().await.unwrap();
        assert_eq!(again.status().as_u16(), 304, "{path}");
        assert!(again.headers().contains_key("content-security-policy"));
        assert!(again.bytes().await.unwrap().is_empty());
        let other = http.request("GET", path).header("if-none-match", "W/\"0\"").send().await.unwrap();
        assert_eq!(other.status().as_u16(), 200);
    }
}

#[tokio::test]
async fn paths_that_are_no_files_lead_nowhere() {
    let controller = Controller::start(&[]).await;
    for path in [
        "/assets/",
        "/assets/index.html",
        "/assets/..%2findex.html",
        "/assets/..%2f..%2fCargo.toml",
        "/assets/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/assets/..%5c..%5cCargo.toml",
        "/assets/%00",
        "/assets/%ff",
        "/assets/a/b",
        "/assets/.%2f",
    ] {
        for http in [Http::new(controller.http(), None), controller.http_with(READER)] {
            let (status, _, body) = headers(&http, "GET", path).await;
            assert!([400, 401, 404].contains(&status), "{path}: {status}");
            let body = String::from_utf8_lossy(&body).into_owned();
            assert!(
                !body.contains("root:") && !body.contains("[package]") && !body.contains("<!doctype"),
                "{body}"
            );
        }
    }
    let http = Http::new(controller.http(), None);
    for method in ["POST", "PUT", "DELETE", "PATCH"] {
        for path in ["/", "/jobs", "/assets/app.js"] {
            let (status, headers, _) = headers(&http, method, path).await;
            assert_eq!((status, value(&headers, "allow")), (405, "GET"), "{method} {path}");
        }
    }
}

#[tokio::test]
async fn a_setting_switches_it_off() {
    let controller = Controller::start(&[("VMAFX_DASHBOARD", "false")]).await;
    let http = controller.http_with(READER);
    for path in ["/", "/jobs", "/session", "/assets/app.js"] {
        http.get(path).await.refused(404);
    }
    let cookie = format!("vmafx_session={READER}");
    let request = Http::new(controller.http(), None).request("GET", "/v1/jobs").header("cookie", cookie);
    assert_eq!(request.send().await.unwrap().status().as_u16(), 401);
}
