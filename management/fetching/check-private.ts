import { Problem } from '../problem.ts';

/** Said of a private address where records may not open any. */
export const PRIVATE_OFF =
  'whoever runs the management API allows it none (--allow-private-addresses, chart value management.allowPrivateAddresses)';

/**
 * Refuses a record that wants private addresses called by a program whose administrator does not: it stands in a network that its caller
 * may not be in. @throws Problem `private_address_refused`
 */
export function checkPrivate(wanted: boolean, allowed: boolean): void {
  if (wanted && !allowed)
    throw new Problem('private_address_refused', `allow_private_ip: ${PRIVATE_OFF}; leave it out`);
}
