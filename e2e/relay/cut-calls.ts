/** A fetch that cuts the streams of tool calls. */
export interface CutCalls {
  fetch: typeof fetch;
  /** Returns how often the client resumed a stream. */
  resumed: () => number;
}

const EVENT_END = '\n\n';

/** Ends the stream of each tool call after its first event, as a proxy may do. SDK clients resume it. */
export function cutCalls(): CutCalls {
  let resumed = 0;
  return {
    resumed: () => resumed,
    async fetch(input, init) {
      if (new Headers(init?.headers).has('last-event-id')) resumed += 1;
      const response = await fetch(input, init);
      const isCall = typeof init?.body === 'string' && init.body.includes('tools/call');
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
      if (!isCall || !isStream || !response.body) return response;
      return new Response(firstEventOf(response.body), { status: response.status, headers: response.headers });
    },
  };
}

function firstEventOf(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let text = '';
  return new ReadableStream<Uint8Array>({
    async start(controller) {
      while (!text.includes(EVENT_END)) {
        const { done, value } = await reader.read();
        if (done) break;
        text += Buffer.from(value).toString('latin1');
      }
      controller.enqueue(Buffer.from(text.slice(0, text.indexOf(EVENT_END) + EVENT_END.length), 'latin1'));
      controller.close();
      await reader.cancel();
    },
  });
}
