// Checks of `cartbarn doctor`: the settings first, then all they refer to, one file for each check. They only read.

import { type Config, readConfig } from '#gateway/config.ts'
import { ConfigError } from '#shared/errors.ts'
import { checkBackups } from './check-backups.ts'
import { checkCertificate } from './check-certificate.ts'
import { checkDatabase } from './check-database.ts'
import { checkFolder } from './check-folder.ts'
import { checkClock, checkDisk, checkMemory, checkSameMachine, checkService } from './check-machine.ts'
import { checkPackage } from './check-package.ts'
import { checkPlainDevices } from './check-plain-devices.ts'
import { checkPlainHttp } from './check-plain-http.ts'
import { checkPorts } from './check-ports.ts'
import { checkReported } from './check-reported.ts'
import { checkUpgrade } from './check-upgrade.ts'
import { checkUpstream } from './check-upstream.ts'
import { checkWear } from './check-wear.ts'
import { type Finding, failure, ok } from './finding.ts'
import type { Machine } from './machine.ts'
import { findRunning, type Running } from './running.ts'
import { findService, type Service } from './service.ts'

/** Settings of the gateway under examination, and their source. */
interface FoundSettings {
  /** Undefined if the settings are invalid. */
  config: Config | undefined
  /** Raw values of the variables that begin with `CARTBARN_`. */
  environment: Record<string, string | undefined>
  file: string | undefined
  findings: Finding[]
}

const ABOUT = 'settings'
/** Variables that the commands of the package always set, so they do not show that the caller has given settings. */
const NO_SETTINGS = ['CARTBARN_API_KEY', 'CARTBARN_CONFIG']

/**
 * Reads the settings from `file` and the environment if either has any, else those of the service. Without a `file` and
 * a service, the file is the one that `CARTBARN_CONFIG` names.
 */
function findSettings(
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
  const from = isOfService ? `cartbarn.service${path === undefined ? '' : ` and ${path}`}` : (path ?? 'the environment')
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
      findings: error.message.split('\n').map((line) => failure(ABOUT, line, todo)),
    }
  }
}

export interface ExamineOptions {
  environment: Record<string, string | undefined>
  file: string | undefined
  /** Key of an admin; the gateway reports more with it. */
  key: string | undefined
  dataDir: string | undefined
}

export interface Examination {
  findings: Finding[]
  settings: FoundSettings
  /** Undefined if the gateway does not respond. */
  running: Running | undefined
}

/** Runs all checks and returns their findings in the order in which to fix them. */
export async function examine(machine: Machine, options: ExamineOptions): Promise<Examination> {
  const service = await findService(machine)
  const settings = findSettings(options.environment, options.file, service)
  const { config } = settings
  const common = [
    ...checkService(service),
    ...(await checkPackage(machine)),
    await checkClock(machine),
    ...checkMemory(machine),
  ]
  if (config === undefined) return { findings: [...settings.findings, ...common], settings, running: undefined }
  const dataDir = options.dataDir ?? config.dataDir
  const running = await findRunning(config, options.key)
  const isRunning = running !== undefined
  return {
    findings: [
      ...settings.findings,
      ...common,
      ...checkSameMachine(running),
      ...(await checkPorts(machine, config, isRunning)),
      checkFolder(machine, dataDir),
      ...checkDisk(machine, dataDir, isRunning),
      await checkWear(machine, dataDir),
      ...checkDatabase(dataDir, running),
      ...checkUpgrade(dataDir),
      ...checkBackups(machine, dataDir, config.backup, service?.sandbox),
      await checkCertificate(machine, config.tls, running?.health.certificate),
      ...(await checkPlainHttp(running)),
      ...(await checkPlainDevices(config, running)),
      ...(await checkUpstream(machine, config.upstream, running)),
      ...(await checkReported(running)),
    ],
    settings,
    running,
  }
}
