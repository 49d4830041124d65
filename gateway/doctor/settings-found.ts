import { type Config, readConfig } from '#gateway/config.ts'
import { ConfigError } from '#shared/errors.ts'
import { type Finding, ok, wrong } from './finding.ts'
import type { Service } from './service.ts'

/** The settings of the gateway that doctor looks at, and where they came from. */
export interface FoundSettings {
  /** Undefined when they cannot be used. */
  config: Config | undefined
  /** As they were given, for those whose names begin with `CARTBARN_`. */
  environment: Record<string, string | undefined>
  file: string | undefined
  findings: Finding[]
}

const ABOUT = 'settings'
/** Commands of the package have them, whatever the person who calls them has set. */
const NO_SETTINGS = ['CARTBARN_API_KEY', 'CARTBARN_CONFIG']

/**
 * Reads the settings: of `file` and the environment where one of them has any, else those that the service is started with.
 * Without a `file`, and without a service, the file is the one that `CARTBARN_CONFIG` names.
 */
export function findSettings(
  environment: Record<string, string | undefined>,
  file: string | undefined,
  service: Service | undefined,
): FoundSettings {
  const isGiven =
    file !== undefined ||
    Object.keys(environment).some((name) => name.startsWith('CARTBARN_') && !NO_SETTINGS.includes(name))
  const isOfService = !isGiven && service !== undefined
  const used = isOfService ? service.environment : environment
  const path = isOfService ? service.configFile : (file ?? (environment.CARTBARN_CONFIG || undefined))
  const from = isOfService
    ? `cartbarn.service${path === undefined ? '' : ` and ${path}`}`
    : (path ?? 'the environment')
  const found = { environment: used, file: path }
  try {
    return { ...found, config: readConfig(used, path), findings: [ok(ABOUT, `can be used, from ${from}`)] }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const todo = error.message.includes('EACCES')
      ? 'sudo cartbarn doctor'
      : `correct it in ${from}; cartbarn run --help lists them`
    return {
      ...found,
      config: undefined,
      findings: error.message.split('\n').map((line) => wrong(ABOUT, line, todo)),
    }
  }
}
