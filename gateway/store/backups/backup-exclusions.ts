/** Things that a restored gateway needs in addition to its database, as text for people. */
export const NOT_IN_A_BACKUP = [
  'settings: the environment, the configuration file, and secrets that they name',
  'certificate and private key of CARTBARN_TLS_CERT and CARTBARN_TLS_KEY',
  'the passphrase of backups',
  'admin-key.txt: cartbarn admin-key makes another key',
  'logs of the system',
] as const

/** Addition for a gateway with an authority whose backup is not encrypted. */
export const NO_AUTHORITY =
  'tls/authority.pem, which only encrypted backups contain: without it each tablet and device must trust another ' +
  'authority'
