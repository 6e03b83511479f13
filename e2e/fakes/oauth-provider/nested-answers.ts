/** Where a gateway finds what a provider answers as `nested`, as Slack does. */
export const NESTED = {
  token_response_mapping: {
    access_token_path: 'authed_user.access_token',
    refresh_token_path: 'authed_user.refresh_token',
    expires_in_path: 'authed_user.expires_in',
    scope_path: 'authed_user.scope',
  },
  identity_from_token: { subject_path: 'authed_user.id', name_path: 'authed_user.profile.name' },
};
