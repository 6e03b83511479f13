export const BASE = '/api/v1beta';
