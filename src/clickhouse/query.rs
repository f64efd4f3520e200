//! Small queries whose rows fit in memory: catalogue, checks, tests.

use serde::de::DeserializeOwned;

use super::{Client, Error, error::shortened};

impl Client {
    /// Runs a query and reads its rows, each as a JSON object. `{name:Type}` in the text stands for the value of `name` in
    /// `params`. Numbers of 64 bits come as numbers.
    ///
    /// # Errors
    /// When it fails, or a row doesn't have the form of `T`.
    pub async fn query<T: DeserializeOwned>(&self, sql: &str, params: &[(&str, &str)]) -> Result<Vec<T>, Error> {
        self.query_with(sql, params, &[]).await
    }

    /// As [`Client::query`], with settings of this query alone.
    ///
    /// # Errors
    /// When it fails, or a row doesn't have the form of `T`.
    pub async fn query_with<T: DeserializeOwned>(
        &self,
        sql: &str,
        params: &[(&str, &str)],
        settings: &[(&str, &str)],
    ) -> Result<Vec<T>, Error> {
        let named: Vec<(String, String)> =
            params.iter().map(|(name, value)| (format!("param_{name}"), escaped(value))).collect();
        let mut arguments = vec![("default_format", "JSONEachRow"), ("output_format_json_quote_64bit_integers", "0")];
        arguments.extend(settings);
        arguments.extend(named.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let body = self.send_statement(sql, &arguments).await?;
        let mut rows = Vec::new();
        for line in body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            rows.push(serde_json::from_slice(line).map_err(|error| {
                let text = shortened(&String::from_utf8_lossy(line), 200);
                self.odd_reply(sql, format!("{error} in row `{text}`"))
            })?);
        }
        Ok(rows)
    }
}

/// A parameter's value is read in the server's tab-separated form.
fn escaped(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '\\' => escaped.push_str("\\\\"),
            '\t' => escaped.push_str("\\t"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\0' => escaped.push_str("\\0"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn parameters_survive_the_tab_separated_form() {
        assert_eq!(escaped("a\tb\\c\nd'e"), "a\\tb\\\\c\\nd'e");
    }
}
