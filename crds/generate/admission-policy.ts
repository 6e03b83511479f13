import { stringify } from 'yaml';
import { KIND_NAMES, type KindName } from '../kinds/kind-names.ts';
import { VERSION } from '../kinds/resource.ts';
import { OBJECTS } from '../kinds/schemas.ts';
import { MOST_ISSUERS } from '../parts/identity-assertions.ts';
import { LABELS_OF_CHILDREN } from '../parts/labels-of-children.ts';
import { TEMPLATE_PULL_SECRETS } from '../parts/pod.ts';
import { nodesOf, type SchemaNode } from './schema-node.ts';
import { jsonSchemaOf } from './structural.ts';

/** Maps the kind of an object to the paths of its references, e.g. `spec.secrets[]`, `spec.headers{}`; a plain text ends with `=`. */
export type References = ReadonlyMap<string, readonly string[]>;

export function referencesOf(kind: KindName): References {
  const spec = jsonSchemaOf(OBJECTS[kind]).properties?.spec ?? {};
  const found = new Map<string, string[]>();
  const add = (kind: string, path: string) => found.set(kind, [...(found.get(kind) ?? []), path]);
  for (const [path, { refersTo, type }] of nodesOf(spec satisfies SchemaNode, 'spec')) {
    if (refersTo !== undefined) add(refersTo, type === 'string' ? `${path}=` : path);
    if (path === `spec.${TEMPLATE_PULL_SECRETS[0]}`) add('Secret', `spec.${TEMPLATE_PULL_SECRETS.join('.')}[]`);
  }
  return found;
}

const optional = (root: string, path: string) =>
  [root, ...path.split('.').filter((step) => step !== '')].join('.?').replace(/^(\w+)\.\?spec/, '$1.spec');

/** The API server knows no fields of a template, so its type check of an expression would report them. */
const rootOf = (path: string) => (path.startsWith(`spec.${TEMPLATE_PULL_SECRETS[0]}.`) ? 'dyn(object)' : 'object');

const written = (root: string, below: string) =>
  below
    .split('.')
    .flatMap((_step, index, steps) => (index === 0 ? [] : [`has(${root}${steps.slice(0, index + 1).join('.')})`]))
    .join(' && ');

/** Returns the names at a path as a CEL list without duplicates, as each authorizer check takes a large part of the cost limit. */
export function namesAt(path: string): string {
  const [list = '', below, deeper] = path.split(/\[\]|\{\}/);
  if (path.endsWith('=') && below === undefined) return `[?${optional('object', path.slice(0, -1))}]`;
  if (deeper !== undefined && !path.endsWith('=')) return namesInLists(list, below ?? '', deeper);
  if (path.endsWith('=')) throw new Error(`${path}: a list of texts cannot be made into one in CEL`);
  if (below === undefined) return `[?${optional('object', path)}.?name]`;
  const all = optional(rootOf(path), list);
  const plain = all.replaceAll('.?', '.');
  if (path.includes('{}')) {
    const same = `j < k && ${[written(`${plain}[j]`, below), `${plain}[j]${below}.name == ${plain}[k]${below}.name`].filter((part) => part !== '').join(' && ')}`;
    const there = written(`${plain}[k]`, below);
    return `${all}.orValue({}).filter(k, ${there === '' ? '' : `${there} && `}!${plain}.exists(j, ${same})).map(k, ${plain}[k]${below}.name)`;
  }
  if (below !== '') return `${all}.orValue([]).filter(r, ${written('r', below)}).map(r, r${below}.name)`;
  const first = `!has(r.key) || !${plain}.exists(s, s.name == r.name && s.key < r.key)`;
  return `${all}.orValue([]).filter(r, ${first}).map(r, r.name)`;
}

/** Lists with lists of references: their number of entries. CEL cannot flatten lists in Kubernetes 1.30, so each entry has its expression. */
const OUTER_LISTS: Readonly<Record<string, number>> = { identityAssertions: MOST_ISSUERS };

function namesInLists(outer: string, inner: string, below: string): string {
  const entries = OUTER_LISTS[outer.split('.').at(-1) ?? ''];
  if (entries === undefined) throw new Error(`${outer}[]${inner}[]: a list in a list needs a bound`);
  const all = optional('object', outer);
  const list = optional('', inner.slice(1)).slice(1);
  return Array.from(
    { length: entries },
    (_, index) => `${all}[?${index}].${list}.orValue([]).filter(r, ${written('r', below)}).map(r, r${below}.name)`,
  ).join(' + ');
}

interface Demand {
  refersTo: string;
  group: string;
  plural: string;
  verb: 'get' | 'use';
  /** Prefix of the variables: the referenced names, and whether the writer has the right to all objects of that kind. */
  names: string;
  all: string;
  effect: (kind: KindName) => string;
}

const handsOn = (kind: KindName) => `which this ${kind} hands on`;

const demands = (group: string): Demand[] => [
  { refersTo: 'Secret', group: '', plural: 'secrets', verb: 'get', names: 'secrets', all: 'getsAll', effect: handsOn },
  {
    refersTo: 'MCPExternalAuthConfig',
    group,
    plural: KIND_NAMES.MCPExternalAuthConfig.plural,
    verb: 'use',
    names: 'configs',
    all: 'usesAll',
    effect: handsOn,
  },
  {
    refersTo: 'MCPGroup',
    group,
    plural: KIND_NAMES.MCPGroup.plural,
    verb: 'use',
    names: 'groups',
    all: 'usesAllGroups',
    effect: () => "and use of a group is the right to its members' credentials",
  },
  {
    refersTo: 'ServiceAccount',
    group: '',
    plural: 'serviceaccounts',
    verb: 'use',
    names: 'accounts',
    all: 'usesAllAccounts',
    effect: (kind) => `whose rights the pods of this ${kind} would have`,
  },
];

/** Checked one by one: each costs 350,000 of the 1,000,000 per expression (hence one rule each) and of the 10,000,000 per policy. */
const MOST_NAMES = 20;

interface Right extends Pick<Demand, 'group' | 'plural'> {
  verb: Demand['verb'] | 'create';
}

function check({ group, plural, verb }: Right, name?: string): string {
  const named = name === undefined ? '' : `.name(${name})`;
  return `authorizer.group('${group}').resource('${plural}').namespace(request.namespace)${named}.check('${verb}').allowed()`;
}

/** Returns one rule per name, as a message expression may not call the authorizer. */
function ruleOfName(kind: KindName, demand: Demand, index: number, asksForAll: boolean) {
  const { names, all, refersTo, verb, effect } = demand;
  const name = `variables.${names}[${index}]`;
  const asked = [
    `size(variables.${names}) <= ${index}`,
    ...(asksForAll ? [`variables.${all}`] : []),
    ...(index === 0 ? [] : [`variables.${names}.indexOf(${name}) < ${index}`]),
    check(demand, name),
  ];
  return {
    expression: asked.join(' || '),
    messageExpression: `request.userInfo.username + ' may not ${verb} ${refersTo} ' + ${name} + ', ${effect(kind).replaceAll("'", "\\'")}; ask for the verb ${verb} on it, or remove the reference'`,
    reason: 'Forbidden',
  };
}

function rulesOf(kind: KindName, demand: Demand, references: References) {
  const paths = references.get(demand.refersTo);
  if (!paths) return { variables: [], validations: [] };
  const { names, all, refersTo, verb, plural } = demand;
  const several = paths.some((path) => /\[\]|\{\}/.test(path));
  // The right to all objects includes the right to one, so a single name needs one check only.
  const asksForAll = several || paths.length > 1;
  const rules = several ? MOST_NAMES : paths.length;
  const tooMany = {
    expression: `size(variables.${names}) <= ${MOST_NAMES} || variables.${all}`,
    message: `more than ${MOST_NAMES} times a ${refersTo} is named, which cannot be looked at one by one; ask for the verb ${verb} on all ${plural} of the namespace, or name fewer`,
    reason: 'Forbidden',
  };
  return {
    variables: [
      { name: names, expression: paths.map(namesAt).join(' + ') },
      ...(asksForAll ? [{ name: all, expression: check(demand) }] : []),
    ],
    validations: [
      ...Array.from({ length: rules }, (_, index) => ruleOfName(kind, demand, index, asksForAll)),
      ...(several ? [tooMany] : []),
    ],
  };
}

const DECIDES: Partial<Record<KindName, string>> = {
  MCPExternalAuthConfig: 'where credentials go',
  MCPOIDCConfig: 'who is let in',
};

function ruleOfItself(kind: KindName, group: string): object[] {
  const decides = DECIDES[kind];
  if (decides === undefined) return [];
  const { plural } = KIND_NAMES[kind];
  const name = 'object.metadata.name';
  return [
    {
      expression: check({ group, plural, verb: 'use' }, name),
      messageExpression: `request.userInfo.username + ' may not use ${kind} ' + ${name} + ', and whoever writes it decides ${decides}; ask for the verb use on it'`,
      reason: 'Forbidden',
    },
  ];
}

/** Returns rules that require the right to create pods, Deployments or Services from a user who labels them. */
function rulesOfLabels(kind: KindName): object[] {
  const spec = jsonSchemaOf(OBJECTS[kind]).properties?.spec ?? {};
  const fields = new Set([...nodesOf(spec satisfies SchemaNode, 'spec')].map(([path]) => path));
  return LABELS_OF_CHILDREN.flatMap(({ group, plural, effect, maps }) => {
    const paths = maps.filter(([field]) => fields.has(`spec.${field}`)).map((steps) => `spec.${steps.join('.')}`);
    if (paths.length === 0) return [];
    const absent = paths.map((path) => `${optional(rootOf(path), path)}.orValue({}) == {}`);
    const remedy = `ask for the verb create on ${plural}, or remove the labels of the ${plural} of this ${kind}`;
    return [
      {
        expression: `${absent.join(' && ')} || ${check({ group, plural, verb: 'create' })}`,
        messageExpression: `request.userInfo.username + ' may not create ${plural}, and labels of ${plural} ${effect}; ${remedy}'`,
        reason: 'Forbidden',
      },
    ];
  });
}

function policyOf(kind: KindName, group: string, name: string, labels: object): object[] {
  const { plural } = KIND_NAMES[kind];
  const references = referencesOf(kind);
  const rules = demands(group).map((demand) => rulesOf(kind, demand, references));
  const validations = [
    ...rules.flatMap((rule) => rule.validations),
    ...ruleOfItself(kind, group),
    ...rulesOfLabels(kind),
  ];
  if (validations.length === 0) return [];
  const metadata = { name: `${name}-references-${plural}`, labels };
  const policy = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata,
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [
          { apiGroups: [group], apiVersions: [VERSION], operations: ['CREATE', 'UPDATE'], resources: [plural] },
        ],
      },
      // Labels and finalizers give no access. A change of any other field may send credentials elsewhere.
      matchConditions: [
        { name: 'spec-changed', expression: "request.operation == 'CREATE' || object.spec != oldObject.spec" },
      ],
      variables: rules.flatMap((rule) => rule.variables),
      validations,
    },
  };
  const binding = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata,
    spec: { policyName: metadata.name, validationActions: ['Deny'] },
  };
  return [policy, binding];
}

/** Requires the right to each referenced object from the writer of a resource, who would otherwise gain access to it. */
export function admissionPolicies(group: string, name: string, labels: object): object[] {
  return (Object.keys(KIND_NAMES) as KindName[]).flatMap((kind) => policyOf(kind, group, name, labels));
}

const GROUP = 'api-group.placeholder';
const NAME = 'name-placeholder';
const LABELS = 'labels-placeholder';

export function admissionPolicyTemplate(): string {
  const text = admissionPolicies(GROUP, NAME, { [LABELS]: '' })
    .map((object) => `---\n${stringify(object, { lineWidth: 0, aliasDuplicateObjects: false })}`)
    .join('');
  if (text.includes('{{')) throw new Error('an expression holds {{, which the chart would evaluate');
  const filled = text
    .replaceAll(GROUP, '{{ .Values.apiGroup }}')
    .replaceAll(NAME, '{{ include "vmcp.fullname" . }}')
    .replaceAll(new RegExp(`labels:\\n +${LABELS}: ""`, 'g'), 'labels: {{- include "vmcp.labels" . | nindent 4 }}');
  return `{{- if .Values.admissionPolicy.enabled }}\n${filled}{{- end }}\n`;
}
