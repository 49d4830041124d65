// What `cartbarn doctor` looks at: the settings first, then all that they lead to, a file for each. Nothing is changed.

import { checkBackups } from './check-backups.ts'
import { checkCertificate } from './check-certificate.ts'
import { checkDatabase } from './check-database.ts'
import { checkFolder } from './check-folder.ts'
import { checkClock, checkDisk, checkMemory, checkSameMachine, checkService } from './check-machine.ts'
import { checkPackage } from './check-package.ts'
import { checkPlainDevices } from './check-plain-devices.ts'
import { checkPlainHttp } from './check-plain-http.ts'
import { checkPorts } from './check-ports.ts'
import { checkUpgrade } from './check-upgrade.ts'
import { checkUpstream } from './check-upstream.ts'
import { checkWear } from './check-wear.ts'
import type { Finding } from './finding.ts'
import type { Machine } from './machine.ts'
import { findRunning, type Running } from './running.ts'
import { findService } from './service.ts'
import { type FoundSettings, findSettings } from './settings-found.ts'

/** What doctor was asked to look at. */
export interface ExamineOptions {
  environment: Record<string, string | undefined>
  /** A file of settings. */
  file: string | undefined
  /** Of an admin: with it the gateway says more. */
  key: string | undefined
  dataDir: string | undefined
}

/** What was found. */
export interface Examination {
  findings: Finding[]
  settings: FoundSettings
  /** Undefined when the gateway does not answer. */
  running: Running | undefined
}

/** Looks at everything, in the order in which a person should see to it. */
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
  if (config === undefined)
    return { findings: [...settings.findings, ...common], settings, running: undefined }
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
    ],
    settings,
    running,
  }
}
