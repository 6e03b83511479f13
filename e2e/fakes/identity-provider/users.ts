/** The users of the identity provider. Passwords are for the loopback example only. */
interface User {
  password: string;
  name: string;
  email: string;
  groups: string[];
}

export const USERS: Readonly<Record<string, User>> = {
  alice: {
    password: 'alice',
    name: 'Alice Example',
    email: 'alice@example.test',
    groups: ['engineering', 'writers'],
  },
  bob: { password: 'bob', name: 'Bob Example', email: 'bob@example.test', groups: ['engineering'] },
};

/** The confidential client of a gateway: exchanges tokens. */
export const GATEWAY_CLIENT = { id: 'vmcp', secret: 'vmcp-loopback-secret' };

/** The public client of a person's terminal. */
export const CLI_CLIENT = { id: 'vmcp-cli' };
