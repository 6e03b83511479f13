import { stringify } from 'yaml';
import { KIND_NAMES, type KindName } from '../kinds/kind-names.ts';
import { VERSION } from '../kinds/resource.ts';
import { OBJECTS } from '../kinds/schemas.ts';
import { nodesOf, type SchemaNode } from './schema-node.ts';
import { jsonSchemaOf } from './structural.ts';

/** What a kind refers to: kind of the object to the paths of the references, e.g. `spec.secrets[]`, `spec.headers{}`. */
export type References = ReadonlyMap<string, readonly string[]>;

/** Every reference of a kind, as its schema marks them. */
export function referencesOf(kind: KindName): References {
  const spec = jsonSchemaOf(OBJECTS[kind]).properties?.spec ?? {};
  const found = new Map<string, string[]>();
  for (const [path, { refersTo }] of nodesOf(spec satisfies SchemaNode, 'spec')) {
    if (refersTo !== undefined) found.set(refersTo, [...(found.get(refersTo) ?? []), path]);
  }
  return found;
}

const optional = (root: string, path: string) =>
  [root, ...path.split('.').filter((step) => step !== '')].join('.?').replace(/^(\w+)\.\?spec/, '$1.spec');

/** That a field path below a variable is written. The empty path always is. */
const written = (root: string, below: string) =>
  below
    .split('.')
    .flatMap((_step, index, steps) => (index === 0 ? [] : [`has(${root}${steps.slice(0, index + 1).join('.')})`]))
    .join(' && ');

/**
 * The names at a path, as a list in CEL. Of one list or map the same name counts once, as each question to the authorizer
 * costs much of what a policy may cost.
 */
export function namesAt(path: string): string {
  const [list = '', below, deeper] = path.split(/\[\]|\{\}/);
  if (deeper !== undefined) throw new Error(`${path}: a list in a list cannot be made into one in CEL`);
  if (below === undefined) return `[?${optional('object', path)}.?name]`;
  const all = optional('object', list);
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

/** A right that a reference asks of whoever writes it. */
interface Demand {
  refersTo: string;
  group: string;
  plural: string;
  verb: 'get' | 'use';
  /** Names of the variables: what is referred to, and whether the writer has the right to all of that kind. */
  names: string;
  all: string;
}

const demands = (group: string): Demand[] => [
  { refersTo: 'Secret', group: '', plural: 'secrets', verb: 'get', names: 'secrets', all: 'getsAll' },
  {
    refersTo: 'MCPExternalAuthConfig',
    group,
    plural: KIND_NAMES.MCPExternalAuthConfig.plural,
    verb: 'use',
    names: 'configs',
    all: 'usesAll',
  },
];

/**
 * Names that are asked about one by one. Each question costs 350,000 of the 1,000,000 that one expression may cost and of
 * the 10,000,000 of a policy, so each has a rule of its own, and more than these cannot be afforded.
 */
const MOST_NAMES = 24;

function check({ group, plural, verb }: Demand, name?: string): string {
  const named = name === undefined ? '' : `.name(${name})`;
  return `authorizer.group('${group}').resource('${plural}').namespace(request.namespace)${named}.check('${verb}').allowed()`;
}

/** A message may not ask the authorizer, so each name has a rule and a message of its own. */
function ruleOfName(kind: KindName, demand: Demand, index: number) {
  const { names, all, refersTo, verb } = demand;
  const name = `variables.${names}[${index}]`;
  const asked = [
    `size(variables.${names}) <= ${index}`,
    `variables.${all}`,
    ...(index === 0 ? [] : [`variables.${names}.indexOf(${name}) < ${index}`]),
    check(demand, name),
  ];
  return {
    expression: asked.join(' || '),
    messageExpression: `request.userInfo.username + ' may not ${verb} ${refersTo} ' + ${name} + ', which this ${kind} hands on; ask for the verb ${verb} on it, or remove the reference'`,
    reason: 'Forbidden',
  };
}

function rulesOf(kind: KindName, demand: Demand, references: References) {
  const paths = references.get(demand.refersTo);
  if (!paths) return { variables: [], validations: [] };
  const { names, all, refersTo, verb, plural } = demand;
  const several = paths.some((path) => /\[\]|\{\}/.test(path));
  const rules = several ? MOST_NAMES : paths.length;
  const tooMany = {
    expression: `size(variables.${names}) <= ${MOST_NAMES} || variables.${all}`,
    message: `more than ${MOST_NAMES} times a ${refersTo} is named, which cannot be looked at one by one; ask for the verb ${verb} on all ${plural} of the namespace, or name fewer`,
    reason: 'Forbidden',
  };
  return {
    variables: [
      { name: names, expression: paths.map(namesAt).join(' + ') },
      { name: all, expression: check(demand) },
    ],
    validations: [
      ...Array.from({ length: rules }, (_, index) => ruleOfName(kind, demand, index)),
      ...(several ? [tooMany] : []),
    ],
  };
}

/** The policy of one kind and its binding; undefined for a kind that refers to nothing of worth. */
function policyOf(kind: KindName, group: string, name: string, labels: object): object[] {
  const { plural } = KIND_NAMES[kind];
  const references = referencesOf(kind);
  const rules = demands(group).map((demand) => rulesOf(kind, demand, references));
  const validations = rules.flatMap((rule) => rule.validations);
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
      // Labels and finalizers hand nothing on. A change of anything else may lead credentials elsewhere.
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

/** The policies of all kinds. Without right to what it refers to, nobody writes a resource: it would hand that on. */
export function admissionPolicies(group: string, name: string, labels: object): object[] {
  return (Object.keys(KIND_NAMES) as KindName[]).flatMap((kind) => policyOf(kind, group, name, labels));
}

const GROUP = 'api-group.placeholder';
const NAME = 'name-placeholder';
const LABELS = 'labels-placeholder';

/** The policies as a template of the chart. */
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
