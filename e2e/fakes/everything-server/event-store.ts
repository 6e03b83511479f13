import type { EventId, EventStore, JSONRPCMessage, StreamId } from '@modelcontextprotocol/server';

interface StoredEvent {
  id: EventId;
  stream: StreamId;
  message: JSONRPCMessage;
}

/** Keeps the last `limit` events of one session, so that a client may resume a stream with `Last-Event-ID`. */
export function createEventStore(limit = 1000): EventStore {
  const events: StoredEvent[] = [];
  let sequence = 0;
  return {
    storeEvent(stream, message) {
      sequence += 1;
      const id = `${stream}/${sequence}`;
      events.push({ id, stream, message });
      if (events.length > limit) events.shift();
      return Promise.resolve(id);
    },
    getStreamIdForEventId(id) {
      return Promise.resolve(events.find((event) => event.id === id)?.stream);
    },
    async replayEventsAfter(last, { send }) {
      const start = events.findIndex((event) => event.id === last);
      const stream = events[start]?.stream ?? last.slice(0, last.lastIndexOf('/'));
      for (const event of events.slice(start + 1)) {
        const isPriming = Object.keys(event.message).length === 0;
        if (event.stream === stream && !isPriming) await send(event.id, event.message);
      }
      return stream;
    },
  };
}
