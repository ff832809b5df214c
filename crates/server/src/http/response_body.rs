//! The body of a response, as hyper takes it.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;

use super::buffered_socket::PendingPieces;
use super::timeouts::BusyGuard;

/// The body of a response.
pub(crate) enum ResponseBody {
    /// The whole body; `None` is empty.
    Whole(Option<Bytes>),
    /// The whole body, in pieces.
    Several(VecDeque<Bytes>),
    /// Pieces that arrive while the response is made. An error ends the connection.
    Pieces {
        from: mpsc::Receiver<io::Result<Bytes>>,
        /// The bytes that are still to come, if the length was announced.
        left: Option<u64>,
    },
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match self.get_mut() {
            ResponseBody::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            ResponseBody::Several(pieces) => {
                Poll::Ready(pieces.pop_front().map(|piece| Ok(Frame::data(piece))))
            }
            ResponseBody::Pieces { from, left } => {
                let piece = std::task::ready!(from.poll_recv(cx));
                if let (Some(Ok(bytes)), Some(left)) = (&piece, left) {
                    *left = left.saturating_sub(bytes.len() as u64);
                }
                Poll::Ready(piece.map(|piece| piece.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            ResponseBody::Whole(bytes) => bytes.is_none(),
            ResponseBody::Several(pieces) => pieces.is_empty(),
            ResponseBody::Pieces { .. } => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ResponseBody::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |b| b.len() as u64)),
            ResponseBody::Several(pieces) => {
                SizeHint::with_exact(pieces.iter().map(|b| b.len() as u64).sum())
            }
            ResponseBody::Pieces { left: Some(left), .. } => SizeHint::with_exact(*left),
            ResponseBody::Pieces { left: None, .. } => SizeHint::default(),
        }
    }
}

/// A body that hyper sends. When it is dropped the connection is idle.
pub(crate) struct DeliveredBody {
    pub(super) body: ResponseBody,
    pub(super) delivery: ResponseDelivery,
}

/// The connection's part in a response that is being sent.
pub(super) struct ResponseDelivery {
    /// Where pieces are noted, so that the socket need not copy them.
    pub(super) pieces: PendingPieces,
    pub(super) busy: BusyGuard,
}

impl Body for DeliveredBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let DeliveredBody { body, delivery } = self.get_mut();
        let polled = Pin::new(body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(piece) = frame.data_ref()
        {
            delivery.pieces.note(piece);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
