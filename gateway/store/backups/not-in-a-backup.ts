/** What a restored gateway needs besides its database, for people. */
export const NOT_IN_A_BACKUP = [
  'settings: the environment, the configuration file, and secrets that they name',
  'files of TLS: certificate and private key',
  'the passphrase of backups',
  'admin-key.txt: cartbarn admin-key makes another key',
  'logs of the system',
] as const
