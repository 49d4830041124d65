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

/**
 * Reads the settings: of `file` and the environment where one of them has any, else those that the service is started with.
 */
export function findSettings(
  environment: Record<string, string | undefined>,
  file: string | undefined,
  service: Service | undefined,
): FoundSettings {
  const isGiven =
    file !== undefined ||
    Object.keys(environment).some((name) => name.startsWith('CARTBARN_') && name !== 'CARTBARN_API_KEY')
  const used = isGiven || service === undefined ? environment : service.environment
  const path = isGiven ? file : service?.configFile
  const from =
    isGiven || service === undefined
      ? (path ?? 'the environment')
      : `cartbarn.service${path === undefined ? '' : ` and ${path}`}`
  const found = { environment: used, file: path }
  try {
    return { ...found, config: readConfig(used, path), findings: [ok(ABOUT, `can be used, from ${from}`)] }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const todo = `correct it in ${from}; cartbarn run --help lists them`
    return {
      ...{ ...found, config: undefined },
      findings: error.message.split('\n').map((line) => wrong(ABOUT, line, todo)),
    }
  }
}
