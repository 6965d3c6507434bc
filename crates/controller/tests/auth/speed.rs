//! What a call costs at the gate. Run by hand: `cargo test --release --test auth -- --ignored --nocapture speed`.

use std::time::Instant;

use serde_json::json;

use crate::issuer::{Hand, Issuer};

#[tokio::test]
#[ignore = "prints figures, proves nothing"]
async fn how_long_a_token_takes() {
    const NEW: u32 = 500;
    const KNOWN: u32 = 100_000;
    let issuer = Issuer::start().await;
    let access = issuer.trusted(&Hand::new()).await;
    let tokens: Vec<_> = (0..NEW)
        .map(|number| issuer.token_with(|claims| claims["sub"] = json!(number.to_string())))
        .collect();
    access.authenticator.authenticate(Some(&issuer.token())).await.unwrap();

    let begun = Instant::now();
    for token in &tokens {
        access.authenticator.authenticate(Some(token)).await.unwrap();
    }
    println!("a new token: {:?}", begun.elapsed() / NEW);
    let begun = Instant::now();
    for number in 0..KNOWN {
        let token = &tokens[number as usize % tokens.len()];
        access.authenticator.authenticate(Some(token)).await.unwrap();
    }
    println!("a known token: {:?}", begun.elapsed() / KNOWN);
}
