//! Why a request got no answer, in the words of the host, and which failure that is for the model.

use std::fmt;

use super::BadUrl;
use super::bindings::wasi::http::types::ErrorCode;
use crate::{Failure, FailureKind};

/// No answer came. Every variant turns into a [`Failure`] with a stable code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpError {
    /// A rule of the host, or the class of the address, forbids the request.
    Denied,
    /// The request itself cannot be sent; says which part.
    Invalid(String),
    /// Nobody answered in time.
    TimedOut,
    /// A limit of the host was reached; the code names it.
    Limited(&'static str),
    /// The server, or the way to it, failed: a stable code and, where the host gave one, a detail.
    Upstream(&'static str, Option<String>),
}

impl From<BadUrl> for HttpError {
    fn from(bad: BadUrl) -> Self {
        Self::Invalid(bad.to_string())
    }
}

impl From<BadUrl> for Failure {
    fn from(bad: BadUrl) -> Self {
        HttpError::from(bad).into()
    }
}

impl From<HttpError> for Failure {
    fn from(error: HttpError) -> Self {
        let (kind, code) = match &error {
            HttpError::Denied => (FailureKind::Denied, "http-denied"),
            HttpError::Invalid(_) => (FailureKind::InvalidInput, "http-request-invalid"),
            HttpError::TimedOut => (FailureKind::Upstream, "http-timeout"),
            HttpError::Limited(code) => (FailureKind::Limited, *code),
            HttpError::Upstream(code, _) => (FailureKind::Upstream, *code),
        };
        Self::new(kind, error.to_string()).with_code(code)
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied => f.write_str("no rule allows this request"),
            Self::Invalid(reason) => f.write_str(reason),
            Self::TimedOut => f.write_str("the server did not answer in time"),
            Self::Limited(code) => write!(f, "a limit for requests was reached ({code})"),
            Self::Upstream(code, None) => write!(f, "the request failed ({code})"),
            Self::Upstream(code, Some(detail)) => write!(f, "the request failed ({code}): {detail}"),
        }
    }
}

impl std::error::Error for HttpError {}

impl From<ErrorCode> for HttpError {
    fn from(code: ErrorCode) -> Self {
        use ErrorCode as E;
        match code {
            // A forbidden address is the same answer as a forbidden host: which of the two would tell a guest what
            // lies behind a name that it may not reach.
            E::HttpRequestDenied | E::DestinationIpProhibited => Self::Denied,
            E::DnsTimeout
            | E::ConnectionTimeout
            | E::ConnectionReadTimeout
            | E::ConnectionWriteTimeout
            | E::HttpResponseTimeout => Self::TimedOut,
            E::HttpRequestMethodInvalid => Self::Invalid("the method is not valid".to_owned()),
            E::HttpRequestUriInvalid => Self::Invalid("the address is not valid".to_owned()),
            E::HttpRequestUriTooLong => Self::Invalid("the address is too long".to_owned()),
            E::HttpRequestLengthRequired => Self::Invalid("the length of the body is missing".to_owned()),
            E::HttpRequestBodySize(_) => Self::Limited("http-request-body-size"),
            E::HttpRequestHeaderSectionSize(_)
            | E::HttpRequestHeaderSize(_)
            | E::HttpRequestTrailerSectionSize(_)
            | E::HttpRequestTrailerSize(_) => Self::Limited("http-request-header-size"),
            E::HttpResponseBodySize(_) => Self::Limited("http-response-body-size"),
            E::HttpResponseHeaderSectionSize(_)
            | E::HttpResponseHeaderSize(_)
            | E::HttpResponseTrailerSectionSize(_)
            | E::HttpResponseTrailerSize(_) => Self::Limited("http-response-header-size"),
            E::ConnectionLimitReached => Self::Limited("http-connection-limit"),
            E::DnsError(detail) => Self::Upstream("dns-error", detail.rcode),
            E::DestinationNotFound => Self::Upstream("destination-not-found", None),
            E::DestinationUnavailable => Self::Upstream("destination-unavailable", None),
            E::DestinationIpUnroutable => Self::Upstream("destination-unroutable", None),
            E::ConnectionRefused => Self::Upstream("connection-refused", None),
            E::ConnectionTerminated => Self::Upstream("connection-terminated", None),
            E::TlsProtocolError => Self::Upstream("tls-protocol-error", None),
            E::TlsCertificateError => Self::Upstream("tls-certificate-error", None),
            E::TlsAlertReceived(alert) => Self::Upstream("tls-alert", alert.alert_message),
            E::HttpResponseIncomplete => Self::Upstream("http-response-incomplete", None),
            E::HttpResponseTransferCoding(coding) => Self::Upstream("http-transfer-coding", coding),
            E::HttpResponseContentCoding(coding) => Self::Upstream("http-content-coding", coding),
            E::HttpUpgradeFailed => Self::Upstream("http-upgrade-failed", None),
            E::HttpProtocolError => Self::Upstream("http-protocol-error", None),
            E::LoopDetected => Self::Upstream("http-loop", None),
            E::ConfigurationError => Self::Upstream("http-configuration", None),
            E::InternalError(detail) => Self::Upstream("http-internal-error", detail),
        }
    }
}
