import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import { type Finding, failure, ok, warning } from './finding.ts'
import { attempt, fileOf, type Machine } from './machine.ts'

/** Wear fields of `smartctl --json`. */
const smartSchema = z.object({
  smart_status: z.object({ passed: z.boolean() }).optional(),
  nvme_smart_health_information_log: z.object({ percentage_used: z.number() }).optional(),
})
const WORN_PERCENT = 80
const GONE_PERCENT = 100
const REPLACE = 'make a backup to another disk, and replace this one soon'

/** Checks how much of its lifetime the disk of the data folder has used, if the disk reports it. */
export async function checkWear(machine: Machine, dataDir: string): Promise<Finding> {
  const disk = attempt(() => diskOf(machine, statSync(dataDir).dev))
  if (disk === undefined) return ok('wear', 'unknown: the data folder is not on a disk of this machine')
  const percent = attempt(() => lifeTime(disk)) ?? (await smart(machine, disk))
  const name = basename(disk)
  if (percent === undefined)
    return ok('wear', `unknown for ${name}: it does not report wear, or only to root with smartmontools`)
  const message = `${name} has used ${percent} % of its life`
  if (percent >= GONE_PERCENT) return failure('wear', message, REPLACE)
  return percent >= WORN_PERCENT ? warning('wear', message, REPLACE) : ok('wear', message)
}

/** Finds the sysfs folder of the whole disk from a Linux device number (makedev(3)). */
function diskOf(machine: Machine, device: number): string {
  const major = (device >> 8) & 0xfff
  const minor = (device & 0xff) | ((device >> 12) & 0xfff00)
  const folder = realpathSync(fileOf(machine, `sys/dev/block/${major}:${minor}`))
  return existsSync(join(folder, 'partition')) ? dirname(folder) : folder
}

/**
 * Reads the used lifetime, in per cent, of eMMC and of SD cards whose driver reports it: the higher of two estimates in
 * tenths, 0x01 up to 10 %, 0x0b past the end. Source: Documentation/ABI/testing of Linux, mmc `life_time`.
 */
function lifeTime(disk: string): number | undefined {
  const tenths = readFileSync(join(disk, 'device/life_time'), 'utf8').trim().split(/\s+/).map(Number)
  const most = Math.max(...tenths)
  return most >= 1 && most <= 11 ? most * 10 : undefined
}

async function smart(machine: Machine, disk: string): Promise<number | undefined> {
  if (machine.userId !== 0) return undefined
  const output = await machine.ask('smartctl', ['--json', '-H', '-A', `/dev/${basename(disk)}`])
  const { data } = smartSchema.safeParse(attempt(() => JSON.parse(output ?? '')))
  if (data?.smart_status?.passed === false) return GONE_PERCENT
  return data?.nvme_smart_health_information_log?.percentage_used
}
