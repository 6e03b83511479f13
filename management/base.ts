/** Path below which all operations are. */
export const BASE = '/api/v1beta';
