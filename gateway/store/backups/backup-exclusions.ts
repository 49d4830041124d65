/** What a restored gateway needs besides its database, for people. */
export const NOT_IN_A_BACKUP = [
  'settings: the environment, the configuration file, and secrets that they name',
  'certificate and private key of CARTBARN_TLS_CERT and CARTBARN_TLS_KEY',
  'the passphrase of backups',
  'admin-key.txt: cartbarn admin-key makes another key',
  'logs of the system',
] as const

/** In addition, where it is there and the backup is not encrypted. */
export const NO_AUTHORITY =
  'tls/authority.pem, which only encrypted backups contain: without it each tablet and device must trust another ' +
  'authority'
