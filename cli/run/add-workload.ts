import { createWorkload } from '#management/operations/create-workload';
import { createGroup, listGroups } from '#management/operations/groups';
import { getWorkload } from '#management/operations/workloads';
import type { NewWorkload } from '#management/records/workload';
import type { ProviderType } from '#management/secrets/secrets';
import type { Context } from '../context.ts';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import type { ManagementApi } from '../management/management-api.ts';
import { Refusal } from '../management/refusal.ts';
import { shownLine } from '../shown-output.ts';
import { findSource, type Found } from './find-source.ts';
import { gatherValues, HEADERS, type Given, type Values } from './gather-values.ts';
import { storeSecrets } from './store-secrets.ts';

export interface Wish {
  source: string;
  args: readonly string[];
  name?: string;
  group?: string;
  transport?: NewWorkload['transport'];
  port?: number;
  variables: Given;
  headers: Given;
  /** Set up if there is none. */
  provider: ProviderType;
  inCluster: boolean;
}

export interface Added {
  name: string;
  group: Group;
}

/** Leaves nothing behind after a failure. @throws CliError */
export async function addWorkload(api: ManagementApi, wish: Wish, context: Context): Promise<Added> {
  const found = await findSource(api, wish, context);
  const { name } = found;
  if (wish.inCluster && found.body.command !== undefined && found.body.image === undefined)
    throw new CliError(
      EXIT_CODES.usage,
      `${wish.source} is a package, which a cluster cannot start: name an image, or a URL`,
    );
  await checkFree(api, name, context);
  for (const note of found.notes) context.err.write(`${note}\n`);
  const variables = await gatherValues(found.remote ? [] : found.wanted, wish.variables, context);
  // The environment is not used here: the author of an entry could name any variable and receive its value.
  const outside = { ...context, environment: {}, options: HEADERS };
  const headers = await gatherValues(found.remote ? found.wanted : [], wish.headers, outside);
  const group = await chooseGroup(api, wish.group);
  const secrets = new Map([...variables.secrets, ...headers.secrets]);
  const { references, undo } = await storeSecrets(api, name, secrets, context, wish.provider);
  try {
    const body = { ...bodyOf(found, wish, { variables, headers }, references), name, group: group.name };
    const { image_context: told, warnings = [] } = (await api.call(createWorkload, { body })).body;
    for (const warning of warnings) context.err.write(`${shownLine(warning)}\n`);
    if (told !== undefined) context.err.write(`${shownLine(told)}\n`);
    return { name, group };
  } catch (problem) {
    await undo().catch(() => undefined);
    throw problem;
  }
}

/** The secrets of an existing workload must not change. @throws CliError */
async function checkFree(api: ManagementApi, name: string, { typed }: Pick<Context, 'typed'>): Promise<void> {
  try {
    await api.call(getWorkload, { params: { name } });
  } catch (problem) {
    if (problem instanceof Refusal && problem.code === 'not_found') return;
    throw problem;
  }
  const remedy = `give this one another name with --name, or take that one away with "${typed(`rm ${name}`)}"`;
  throw new CliError(EXIT_CODES.conflict, `there is a workload ${name} already: ${remedy}`);
}

const processOf = (hasProcesses: boolean, stdio_process: NewWorkload['stdio_process']) =>
  hasProcesses && stdio_process !== undefined ? { stdio_process } : {};

function bodyOf(
  { body }: Found,
  { args, transport, port, inCluster }: Wish,
  { variables, headers }: Record<'variables' | 'headers', Values>,
  references: ReadonlyMap<string, string>,
): Omit<NewWorkload, 'name'> {
  const referencesOf = (values: Values): [string, string][] =>
    [...values.secrets.keys()].map((target) => [target, references.get(target) ?? '']);
  const secrets = referencesOf(variables).map(([target, name]) => ({ name, target }));
  const plain = Object.fromEntries(headers.plain);
  const fromSecret = Object.fromEntries(referencesOf(headers));
  const { oauth_config: login, stdio_process, ...others } = body;
  // Only local stdio workloads have one process per session.
  const hasProcesses = !inCluster && (transport ?? body.transport) === 'stdio';
  const carriesToken = [...headers.plain.keys(), ...headers.secrets.keys()].some((one) => /^authorization$/i.test(one));
  return {
    ...others,
    // With a token, no login is needed.
    ...(login && !carriesToken && { oauth_config: login }),
    ...(transport && { transport }),
    ...processOf(hasProcesses, stdio_process),
    ...(port !== undefined && { target_port: port }),
    ...(args.length > 0 && { cmd_arguments: [...args] }),
    ...(variables.plain.size > 0 && { env_vars: Object.fromEntries(variables.plain) }),
    ...(secrets.length > 0 && { secrets }),
    ...(headers.plain.size + headers.secrets.size > 0 && {
      header_forward: { add_plaintext_headers: plain, add_headers_from_secret: fromSecret },
    }),
  };
}

/** `vmcp run` gives this group to a folder that it creates. */
export const USUAL_GROUP = 'tools';

interface Group {
  name: string;
  /** No endpoint offers it yet. */
  isNew: boolean;
}

/** Returns the named, the only or the default group; creates a missing one. @throws CliError */
async function chooseGroup(api: ManagementApi, wanted: string | undefined): Promise<Group> {
  const names = (await api.call(listGroups)).body.groups.map(({ name }) => name);
  const group = wanted ?? (names.length === 1 ? names[0] : USUAL_GROUP) ?? USUAL_GROUP;
  if (names.includes(group)) return { name: group, isNew: false };
  if (wanted === undefined && names.length > 0)
    throw new CliError(EXIT_CODES.usage, `there are several groups: name one with --group (${names.join(', ')})`);
  await api.call(createGroup, { body: { name: group } });
  return { name: group, isNew: true };
}
