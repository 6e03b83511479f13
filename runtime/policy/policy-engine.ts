import {
  preparsePolicySet,
  statefulIsAuthorized,
  type EntityJson,
  type PolicyJson,
  type Response,
  type TypeAndId,
} from '@cedar-policy/cedar-wasm/nodejs';
import { BACKEND, CLIENT, GROUP, RESOURCE_TYPES } from '#crds/policy/vocabulary';

export interface CedarRequest {
  readonly principal: TypeAndId;
  readonly action: TypeAndId;
  readonly resource: TypeAndId;
  readonly context: Record<string, unknown>;
  readonly entities: readonly EntityJson[];
}

export interface LoadedPolicies {
  /** @throws PolicyEngineFailed */
  evaluate(request: CedarRequest): Response;
}

/** Cedar failed. Its message may contain values of the request: never log it. */
class PolicyEngineFailed extends Error {
  override readonly name = 'PolicyEngineFailed';
}

const MAX_SLOTS = 512;

interface Slot {
  readonly id: string;
  owner: symbol | undefined;
}

/** Cedar stores policy sets by id in one WebAssembly instance and never frees them. Ids are reused and bounded; this map names owners. */
const slots = new Map<string, Slot>();

function slotOf(name: string): Slot {
  const known = slots.get(name);
  if (known !== undefined) return known;
  const slot = spareSlot();
  slots.set(name, slot);
  return slot;
}

function spareSlot(): Slot {
  const [oldest] = slots;
  if (oldest === undefined || slots.size < MAX_SLOTS) return { id: `policies-${slots.size}`, owner: undefined };
  slots.delete(oldest[0]);
  return oldest[1];
}

/** @param name of the set. A later set replaces it in memory; an earlier one still works, but slowly. @throws PolicyEngineFailed */
export function loadPolicies(name: string, policies: Readonly<Record<string, PolicyJson>>): LoadedPolicies {
  const owner = Symbol(name);
  const load = () => {
    const slot = slotOf(name);
    if (slot.owner === owner) return slot;
    slot.owner = undefined;
    const loaded = attempt(() => preparsePolicySet(slot.id, { staticPolicies: { ...policies } }));
    if (loaded.type === 'failure') throw new PolicyEngineFailed(loaded.errors.map(({ message }) => message).join('; '));
    slot.owner = owner;
    return slot;
  };
  const evaluate = (request: CedarRequest): Response => {
    const slot = load();
    const call = { ...request, preparsedPolicySetId: slot.id, validateRequest: false };
    const answer = attempt(() => statefulIsAuthorized(call as Parameters<typeof statefulIsAuthorized>[0]));
    if (answer.type === 'success') return answer.response;
    throw new PolicyEngineFailed(answer.errors.map(({ message }) => message).join('; '));
  };
  // The first evaluations of a process compile Cedar, about 15 ms. Doing so here spares callers the wait.
  for (let warm = 0; warm < WARM_UP; warm++) evaluate(SAMPLE);
  return { evaluate };
}

const WARM_UP = 3;
const SAMPLE: CedarRequest = {
  principal: { type: CLIENT, id: '' },
  action: { type: 'Action', id: 'call_tool' },
  resource: { type: RESOURCE_TYPES.call_tool, id: '' },
  context: {},
  entities: [
    { uid: { type: CLIENT, id: '' }, attrs: { claim_sub: '', claim_aud: [''] }, parents: [{ type: GROUP, id: '' }] },
    { uid: { type: RESOURCE_TYPES.call_tool, id: '' }, attrs: { name: '' }, parents: [{ type: BACKEND, id: '' }] },
  ],
};

function attempt<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw new PolicyEngineFailed('Cedar stopped', { cause: error });
  }
}
