import { initialize, rpc } from './check-endpoint.ts';
import { type Examination, type Finding, ok, skipped, tryToAsk, warning } from './finding.ts';
import { type Answer, NoAnswer, objectIn } from './probe.ts';

/** Name in a status, to the members of capabilities that offer the extension to clients. */
const EXTENSIONS = { apps: ['io.modelcontextprotocol/ui'], tasks: ['io.modelcontextprotocol/tasks', 'tasks'] };
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'vmcp-doctor', version: '1' },
};

/** Tells which extensions clients get, and which backends offer them. */
export async function checkExtensions({ url, token, endpoint }: Examination): Promise<Finding[]> {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const opened = await tryToAsk(url, initialize(headers));
  if (opened instanceof NoAnswer || opened.status !== 200)
    return [skipped('extensions', 'needs a login', 'give an access token with --token-file'), ...warnOf(endpoint)];
  const session = opened.headers['mcp-session-id'];
  const end = { ...headers, 'mcp-session-id': session ?? '' };
  if (session !== undefined) await tryToAsk(url, { method: 'DELETE', headers: end });
  const modern = { ...headers, 'mcp-method': 'server/discover', 'mcp-protocol-version': '2026-07-28' };
  const discovered = await tryToAsk(url, rpc('server/discover', { _meta: META }, modern));
  const offered = [opened, discovered].flatMap(offeredBy);
  const findings = Object.entries(EXTENSIONS).map(([name, ids]) =>
    judge(
      name,
      ids.some((id) => offered.includes(id)),
      endpoint,
    ),
  );
  return [...findings, ...warnOf(endpoint)];
}

function offeredBy(answer: Answer | NoAnswer): string[] {
  const capabilities = answer instanceof NoAnswer ? {} : objectAt(objectAt(objectIn(answer), 'result'), 'capabilities');
  return [...Object.keys(objectAt(capabilities, 'extensions')), ...Object.keys(capabilities)];
}

function objectAt(object: Record<string, unknown> | undefined, member: string): Record<string, unknown> {
  const value = object?.[member];
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function judge(name: string, isOffered: boolean, endpoint: Examination['endpoint']): Finding {
  const check = `extension ${name}`;
  const offering = (endpoint?.backends ?? []).filter(({ extensions }) => extensions.includes(name));
  const whose = offering.length === 0 ? '' : ` (from ${offering.map((backend) => backend.name).join(', ')})`;
  if (isOffered || (name === 'apps' && offering.length > 0)) return ok(check, `clients get it${whose}`);
  if (offering.length === 0) return ok(check, 'clients get none');
  return warning(check, `clients do not get it${whose}`, 'see the log of the server');
}

/** The conditions of the server tell of apps whose URIs or calls collide. */
function warnOf(endpoint: Examination['endpoint']): Finding[] {
  return (endpoint?.conditions ?? [])
    .filter(({ type, message }) => type === 'RuntimeWarning' && /\bapps\b/.test(message))
    .map(({ message }) => warning('apps of several backends', message, 'see docs/how-to/apps.md'));
}
