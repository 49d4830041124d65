import { ConfigError } from '#shared/errors.ts'
import { withSecretFiles } from '#shared/files/secret-files.ts'
import { type FieldsOf, PREFIX, type Setting, SettingTable } from '#shared/wire/settings.ts'
import { MQTT } from './mqtt-settings.ts'
import { NETWORK, networkFaults, networkOf } from './network-settings.ts'
import { REMOTE, remoteFaults, remoteOf } from './remote-settings.ts'
import { readSettingsFile } from './settings-file.ts'
import { STORAGE, storageFaults, storageOf } from './storage-settings.ts'

/** Settings of the head office, which may run on the same machine. */
const HUB_PREFIX = 'CARTBARN_HUB_'
/** What commands read of the same environment. */
const COMMAND_VARIABLES = ['CARTBARN_API_KEY', 'CARTBARN_CONFIG', 'CARTBARN_RELEASE_KEYS', 'CARTBARN_RELEASE_KEY_FILE']
/** They may be in files too. */
const SECRETS = ['ADMIN_API_KEY', 'ENROLMENT_KEY', 'SMTP_URL', 'UPSTREAM_KEY', 'BACKUP_PASSPHRASE', 'BACKUP_S3_SECRET']

/** Every setting, in the order in which they are listed. */
const SETTINGS = { ...NETWORK, ...MQTT, ...STORAGE, ...REMOTE }
const table = new SettingTable(SETTINGS, PREFIX)

/** How one gateway is to run; made by `readConfig`, or by a test. */
export type Config = FieldsOf<typeof SETTINGS> &
  ReturnType<typeof networkOf> &
  ReturnType<typeof storageOf> &
  ReturnType<typeof remoteOf>

/**
 * Settings, by their names in the environment, with each secret that stands in a file: so a filter knows all of them.
 */
export function withSecretsOfFiles(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const names = SECRETS.map((name) => `${PREFIX}${name}`)
  return withSecretFiles(given, names, '').settings
}

/**
 * Reads the settings: `CARTBARN_*` of `environment`, over those of the file `filePath` (the same names,
 * with or without the prefix), over the defaults. Unknown names and bad values throw a `ConfigError` that lists all.
 */
export function readConfig(environment: Record<string, string | undefined>, filePath?: string): Config {
  const given: Record<string, unknown> = filePath === undefined ? {} : readFile(filePath)
  for (const [name, value] of Object.entries(environment)) {
    // compose files write an unset variable as an empty one
    if (isOurs(name) && value !== undefined && value !== '') given[name.slice(PREFIX.length)] = value
  }
  const { settings, faults } = withSecretFiles(given, SECRETS, PREFIX)
  const values = table.parse(settings, faults)
  const contradictions = [...networkFaults(values), ...storageFaults(values), ...remoteFaults(values)]
  if (contradictions.length > 0) throw new ConfigError(contradictions.join('\n'))
  return { ...table.fieldsOf(values), ...networkOf(values), ...storageOf(values), ...remoteOf(values) }
}

/** Settings whose values may be any text and tell nothing that others must not know. */
const OPEN_TEXTS = ['DATA_DIR', 'HOST', 'PUBLIC_URL', 'SITE_ID', 'TLS_CERT', 'TLS_KEY', 'TRUSTED_PROXIES']

/**
 * Whether the value of a setting may be shown to others: a number or one of some words, or a text of those that tell
 * nothing. A new setting that may be any text is hidden, and so is a value that is not valid.
 */
export function isOpenSetting(name: string, value: unknown): boolean {
  const [key, rule] = Object.entries(SETTINGS).find(([one]) => PREFIX + one === name) ?? []
  if (rule === undefined || key === undefined) return false
  const { schema } = rule
  if (!schema.safeParse(value).success) return false
  return OPEN_TEXTS.includes(key) || !ANY_TEXTS.some((text) => schema.safeParse(text).success)
}

/** Texts of many forms, which no setting that is a number or one of some words takes. */
const ANY_TEXTS = [
  'flt_AnyText-0123456789_abcdefghijkl',
  'any-text-0123456789',
  'smtps://any:text@example.com',
  'https://any.example.com',
  'Any Text <any@example.com>',
  `cbs_any_${'a0B-'.repeat(11).slice(0, 43)}`,
]

/** One line per setting, for `--help`, `/docs` and docs/operation.md. */
export function describeSettings(): Setting[] {
  return table.describe()
}

function isOurs(name: string): boolean {
  return name.startsWith(PREFIX) && !name.startsWith(HUB_PREFIX) && !COMMAND_VARIABLES.includes(name)
}

function readFile(path: string): Record<string, unknown> {
  const named = Object.entries(readSettingsFile(path))
  return Object.fromEntries(
    named.map(([name, value]) => [name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name, value]),
  )
}
