/** Path prefix of all operations. */
export const BASE = '/api/v1beta';
