//! Conditional requests: the client already has the current response, or wants to change the state that it knows.

use base::Date;

use super::http_date;

/// The preconditions of a request: header lines, where present.
#[derive(Clone, Copy, Debug, Default)]
pub struct Conditions<'a> {
    /// `If-Match`.
    pub if_match: Option<&'a str>,
    /// `If-None-Match`.
    pub if_none_match: Option<&'a str>,
    /// `If-Modified-Since`.
    pub if_modified_since: Option<&'a str>,
    /// `If-Unmodified-Since`.
    pub if_unmodified_since: Option<&'a str>,
}

/// The result of a request's preconditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Precondition {
    /// They hold: the request is served.
    Go,
    /// The client's copy is current: status 304.
    NotModified,
    /// They do not hold: status 412.
    Failed,
}

impl Conditions<'_> {
    /// Evaluates the preconditions of a request for a resource with this `etag` (quotes and `W/` included; empty if there is
    /// none) that was last modified at `modified`, if that is known. `now` is the current time.
    pub fn judge(&self, etag: &str, modified: Option<Date>, now: Date) -> Precondition {
        let modified = modified.map(http_date::whole_seconds);
        let since = |header: Option<&str>| header.and_then(http_date::parse);
        if let Some(list) = self.if_match {
            if !matches(list, etag, true) {
                return Precondition::Failed;
            }
        } else if let (Some(since), Some(modified)) = (since(self.if_unmodified_since), modified)
            && modified > since
        {
            return Precondition::Failed;
        }
        if let Some(list) = self.if_none_match {
            return match matches(list, etag, false) {
                true => Precondition::NotModified,
                false => Precondition::Go,
            };
        }
        match (since(self.if_modified_since), modified) {
            // A date in the future is ignored.
            (Some(since), Some(modified)) if modified <= since && since <= now => Precondition::NotModified,
            _ => Precondition::Go,
        }
    }
}

impl Conditions<'_> {
    /// True if there is no condition.
    pub fn is_empty(&self) -> bool {
        let lines = [
            self.if_match,
            self.if_none_match,
            self.if_modified_since,
            self.if_unmodified_since,
        ];
        lines.iter().all(Option::is_none)
    }

    /// True if a request may change a resource with this `etag` and date, as far as they are known; both are `None`
    /// if the resource does not exist. `now` is the clock.
    pub fn let_change(&self, etag: Option<&str>, modified: Option<Date>, now: Date) -> bool {
        let is_this = |list: &str| etag.is_some_and(|etag| matches(list, etag, true));
        let is_wanted = match (self.if_match, self.if_unmodified_since) {
            (Some(list), _) => is_this(list),
            // The resource does not exist, but the client has a date of it.
            (None, Some(since)) => {
                let modified = http_date::whole_seconds(modified.unwrap_or(now));
                http_date::parse(since).is_none_or(|since| modified <= since)
            }
            (None, None) => true,
        };
        is_wanted && !self.if_none_match.is_some_and(is_this)
    }
}

/// True if `list` is `*` or has this tag in it. A strong comparison takes no weak tags; the other takes those of compressed
/// bodies as well, which end in `-gzip`.
pub fn matches(list: &str, etag: &str, strong: bool) -> bool {
    if list.trim() == "*" {
        return true;
    }
    if etag.is_empty() || strong && etag.starts_with("W/") {
        return false;
    }
    let opaque = etag.strip_prefix("W/").unwrap_or(etag);
    let mut rest = list.trim_start_matches([' ', '\t', ',']);
    while !rest.is_empty() {
        let (weak, quoted) = match rest.strip_prefix("W/") {
            Some(quoted) => (true, quoted),
            None => (false, rest),
        };
        // Between quotes anything may stand but quotes.
        let Some(end) = quoted.strip_prefix('"').and_then(|inner| inner.find('"')) else {
            return false;
        };
        let (tag, after) = quoted.split_at(end + 2);
        let same = tag == opaque;
        if same && !(strong && weak) || !strong && tag.strip_suffix("-gzip\"") == opaque.strip_suffix('"') {
            return true;
        }
        rest = after.trim_start_matches([' ', '\t', ',']);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: &str = "\"8//trunk/a, b.txt\"";

    #[test]
    fn tags_are_compared_whole() {
        assert!(matches(TAG, TAG, true));
        assert!(matches("\"x\", W/\"8//trunk/a, b.txt\"", TAG, false));
        assert!(!matches("\"x\", W/\"8//trunk/a, b.txt\"", TAG, true));
        assert!(matches("\"8//trunk/a, b.txt-gzip\"", TAG, false));
        assert!(!matches("\"8//trunk/a, b.txt-gzip\"", TAG, true));
        assert!(matches("*", "", false));
        assert!(!matches("\"8//trunk/a\"", TAG, false));
        assert!(!matches("8//trunk/a, b.txt", TAG, false));
        assert!(!matches("\"unended", TAG, false));
        assert!(matches(" ,, W/\"d\" ", "W/\"d\"", false));
    }

    #[test]
    fn changes_are_let_in_as_by_apache() {
        let modified = Date::parse(b"2026-11-22T04:20:01.993045Z").expect("it is a date");
        let now = Date(modified.0 + 1_000_000_000);
        let weak = &format!("W/{TAG}");
        let of = |if_match, if_none_match, if_unmodified_since| Conditions {
            if_match,
            if_none_match,
            if_unmodified_since,
            if_modified_since: None,
        };
        for (conditions, there, weakly_there, absent) in [
            (of(None, None, None), true, true, true),
            (of(Some(TAG), None, None), true, false, false),
            (of(Some(weak), None, None), false, false, false),
            (of(Some("\"7//trunk\""), None, None), false, false, false),
            (of(Some("*"), None, None), true, true, false),
            (of(None, Some("*"), None), false, false, true),
            (of(None, Some(TAG), None), false, true, true),
            (of(None, Some("\"x\""), None), true, true, true),
            (
                of(None, None, Some("Sun, 22 Nov 2026 04:20:01 GMT")),
                true,
                true,
                false,
            ),
            (
                of(None, None, Some("Sun, 22 Nov 2026 04:20:00 GMT")),
                false,
                false,
                false,
            ),
            (
                of(None, None, Some("Tue, 22 Dec 2026 00:00:00 GMT")),
                true,
                true,
                true,
            ),
            (of(None, None, Some("yesterday")), true, true, true),
        ] {
            let judge = |etag: Option<&str>| conditions.let_change(etag, etag.map(|_| modified), now);
            let judged = (judge(Some(TAG)), judge(Some(weak)), judge(None));
            assert_eq!(judged, (there, weakly_there, absent), "{conditions:?}");
        }
    }

    /// Each alone as Apache answers it.
    #[test]
    fn verdicts_are_apaches() {
        let modified = Date::parse(b"2026-11-22T04:20:01.993045Z").expect("it is a date");
        let now = Date(modified.0 + 1_000_000_000);
        let judge = |conditions: Conditions<'_>| conditions.judge(TAG, Some(modified), now);
        let none = Conditions::default();
        assert_eq!(judge(none), Precondition::Go);
        assert_eq!(
            judge(Conditions {
                if_none_match: Some(TAG),
                ..none
            }),
            Precondition::NotModified
        );
        assert_eq!(
            judge(Conditions {
                if_match: Some("\"x\""),
                ..none
            }),
            Precondition::Failed
        );
        let same = Some("Sun, 22 Nov 2026 04:20:01 GMT");
        let future = Some("Sun, 22 Nov 2099 04:20:01 GMT");
        let past = Some("Sun, 22 Nov 2020 04:20:01 GMT");
        assert_eq!(
            judge(Conditions {
                if_modified_since: same,
                ..none
            }),
            Precondition::NotModified
        );
        assert_eq!(
            judge(Conditions {
                if_modified_since: future,
                ..none
            }),
            Precondition::Go
        );
        assert_eq!(
            judge(Conditions {
                if_unmodified_since: past,
                ..none
            }),
            Precondition::Failed
        );
        let other = Some("\"other\"");
        assert_eq!(
            judge(Conditions {
                if_none_match: other,
                if_modified_since: same,
                ..none
            }),
            Precondition::Go
        );
    }

    /// The order of RFC 9110, 13.2.2. Apache evaluates each.
    #[test]
    fn a_date_beside_a_tag_is_ignored() {
        let modified = Date::parse(b"2026-11-22T04:20:01.993045Z").expect("it is a date");
        let now = Date(modified.0 + 1_000_000_000);
        let judge = |conditions: Conditions<'_>| conditions.judge(TAG, Some(modified), now);
        let none = Conditions::default();
        let dates = [
            "Sun, 22 Nov 2026 04:20:01 GMT",
            "Sun, 22 Nov 2020 04:20:01 GMT",
            "Sun, 22 Nov 2099 04:20:01 GMT",
            "junk",
        ];
        for since in dates.map(Some) {
            for list in [Some(TAG), Some("*")] {
                let both = judge(Conditions {
                    if_none_match: list,
                    if_modified_since: since,
                    ..none
                });
                assert_eq!(both, Precondition::NotModified, "{list:?} {since:?}");
                let both = judge(Conditions {
                    if_match: list,
                    if_unmodified_since: since,
                    ..none
                });
                assert_eq!(both, Precondition::Go, "{list:?} {since:?}");
            }
        }
    }
}
