//! Published cases.
