import { parseJson } from '#lib/json/parse-json';
import { WorkloadDetail, type WorkloadEdit } from '../records/workload.ts';
import { Problem } from '../problem.ts';
import { sameValue } from '../same-value.ts';
import type { StoredResource } from '../stores/resources.ts';
import { AUTH_FIELDS } from './auth-fields.ts';
import { ENGINE_FIELDS, PROGRAM_FIELDS } from './program-fields.ts';
import { type FieldOptions, type Change, type Field, type Fields, Recorded } from './field.ts';
import { OFFER_FIELDS } from './offer-fields.ts';
import { PERMISSION_FIELDS } from './permission-fields.ts';
import { changed, orNothing, readSpec, type Spec } from './spec.ts';

const FIELDS: Fields<Exclude<keyof WorkloadDetail, 'name'>> = {
  ...PROGRAM_FIELDS,
  ...OFFER_FIELDS,
  ...AUTH_FIELDS,
  ...PERMISSION_FIELDS,
  ...ENGINE_FIELDS,
};
type FieldName = keyof typeof FIELDS;
const NAMES = Object.keys(FIELDS) as FieldName[];

const RECORDED = 'recorded';

/** Keeps an annotation of another tool with the same name. */
const annotationOf = (annotations: Record<string, string>): string =>
  Object.keys(annotations).find((name) => name.endsWith(`/${RECORDED}`) && readRecorded(annotations[name])) ??
  `vmcp.dev/${RECORDED}`;

function readRecorded(text = ''): Recorded | undefined {
  return Recorded.safeParse(parseJson(text)).data;
}

export function recordedOf({ annotations }: Pick<StoredResource, 'annotations'>): Recorded {
  return readRecorded(annotations[annotationOf(annotations)]) ?? {};
}

export type DetailOptions = Pick<FieldOptions, 'host' | 'hasPaths' | 'profile'>;

export function renderDetail(resource: StoredResource, options: DetailOptions): WorkloadDetail {
  const spec = readSpec(resource.spec);
  const all = { ...options, name: resource.name, recorded: recordedOf(resource) };
  const fields = NAMES.flatMap((name) => {
    const value = readField(name, spec, all);
    return value === undefined ? [] : [[name, value] as const];
  });
  return WorkloadDetail.parse({ name: resource.name, ...Object.fromEntries(fields) });
}

const readField = (name: FieldName, spec: Spec, options: FieldOptions): unknown => FIELDS[name].read(spec, options);

export interface Edited {
  spec: Record<string, unknown>;
  annotations: Record<string, string>;
  profile?: Change['profile'];
}

/** Keeps missing and unchanged fields; empty ones and null remove a value. @throws Problem `bad_request`, `inline_secret` */
export function applyDetail(sent: WorkloadEdit, resource: StoredResource, options: DetailOptions): Edited {
  const { name, ...fields } = sent;
  if (name !== undefined && name !== null && name !== resource.name)
    throw new Problem(
      'bad_request',
      `body name: the name cannot be changed; write "${resource.name}", or leave it out`,
    );
  const edited: Edited = { spec: resource.spec, annotations: resource.annotations };
  let recorded = recordedOf(resource);
  for (const field of NAMES) {
    const profile = edited.profile ?? options.profile;
    const change = changeOf(field, fields[field], edited.spec, { ...options, name: resource.name, profile, recorded });
    if (!change) continue;
    if (change.spec) edited.spec = changed(edited.spec, change.spec);
    if (change.profile) edited.profile = change.profile;
    recorded = change.recorded ?? recorded;
  }
  return { ...edited, annotations: annotated(resource.annotations, recorded) };
}

function changeOf<K extends FieldName>(
  name: K,
  wanted: Required<WorkloadDetail>[K] | null | undefined,
  written: Record<string, unknown>,
  options: FieldOptions,
): Change | undefined {
  if (wanted === undefined) return undefined;
  const field: Field<NonNullable<Required<WorkloadDetail>[K]>> = FIELDS[name];
  const value = orNothing(wanted) ?? undefined;
  return sameValue(value, field.read(readSpec(written), options)) ? undefined : field.write(value, written, options);
}

function annotated(annotations: Record<string, string>, recorded: Recorded): Record<string, string> {
  if (sameValue(recorded, recordedOf({ annotations }))) return annotations;
  const name = annotationOf(annotations);
  const others = Object.fromEntries(Object.entries(annotations).filter(([one]) => one !== name));
  const text = JSON.stringify(recorded);
  return text === '{}' ? others : { ...others, [name]: text };
}
