import { decodeRequest, isJsonObject } from '#runtime/mcp/envelope/decode-request';

/** A process for all sessions has no single client, so the gateway declares none of these to it. */
const ASKED = ['elicitation', 'sampling', 'roots'] as const;

/** Records which capabilities the clients of a shared process declare in vain. */
export class SuppressedFeatures {
  readonly #backend: string;
  readonly #declared = new Set<string>();

  constructor(backend: string) {
    this.#backend = backend;
  }

  note(body: Buffer | undefined): void {
    if (this.#declared.size === ASKED.length) return;
    const message = body && decodeRequest(body);
    const capabilities = message?.kind === 'request' ? message.params?.capabilities : undefined;
    if (!isJsonObject(capabilities)) return;
    for (const name of ASKED) if (capabilities[name] !== undefined) this.#declared.add(name);
  }

  /** None while no client declares any of these. `hasLogs`: the process supports log messages. */
  warnings(hasLogs: boolean): readonly string[] {
    const declared = ASKED.filter((name) => this.#declared.has(name));
    if (declared.length === 0) return [];
    const logs = hasLogs ? ', and its log messages are dropped' : '';
    return [
      `backend "${this.#backend}" is one process for all sessions and cannot ask its clients: they offer ${declared.join(', ')}, ` +
        `which it is not told of${logs}: write stdioProcess: perSession in its MCPServer where its tools need that`,
    ];
  }
}
