import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { MachineId, MachineIds } from '#domain/machine.ts'

/**
 * Files with one value; on a PC only root may read them. Source: Linux,
 * Documentation/ABI/testing/sysfs-firmware-dmi-entries
 */
const SERIALS: readonly (readonly [MachineId, string])[] = [
  // target of /proc/device-tree, which a service may not see
  ['board', 'sys/firmware/devicetree/base/serial-number'],
  ['product', 'sys/class/dmi/id/product_uuid'],
  ['product_board', 'sys/class/dmi/id/board_serial'],
]
/** Placeholders that makers leave in an unassigned serial number. */
const NO_SERIAL =
  /o\.?e\.?m|^default|serial|^not |^none|^n\/?a$|^null|unknown|invalid|empty|^0?12345678|-0006-000700080009$/
/** Value of `NET_ADDR_PERM`: the address is the card's permanent one. Source: Linux, include/uapi/linux/netdevice.h */
const PERMANENT = '0'
/** Files that mark a container; each runtime leaves one of them. */
const CONTAINER_MARKS = ['.dockerenv', 'run/.containerenv', 'run/systemd/container']

/**
 * Reads the identifiers of this host, as far as possible; `root` replaces `/` in tests. Hashed, so that neither a
 * backup nor a copy of the database reveals the host. Never throws.
 */
export function readMachineIds(root = '/'): MachineIds {
  const found: [MachineId, string[]][] = [
    ...SERIALS.map(([sign, path]): [MachineId, string[]] => [sign, serialIn(textOf(root, path))]),
    ['network', builtInAddresses(root)],
    ['system', systemId(root)],
  ]
  return Object.fromEntries(
    found
      .filter(([, values]) => values.length > 0)
      .map(([sign, values]) => [sign, values.map((value) => hashOf(sign, value)).toSorted()]),
  )
}

function serialIn(text: string): string[] {
  const serial = text.replaceAll('\0', '').trim().toLowerCase()
  const isOfOneDigit = /^(.?)\1*$/.test(serial.replaceAll(/[^a-z0-9]/g, ''))
  return serial.length < 4 || isOfOneDigit || NO_SERIAL.test(serial) ? [] : [serial]
}

/** Permanent addresses of built-in cards: USB adapters move between hosts; assigned addresses are a system's. */
function builtInAddresses(root: string): string[] {
  const folder = 'sys/class/net'
  return namesIn(join(root, folder)).flatMap((name) => {
    const path = join(folder, name)
    const device = placeOf(join(root, path, 'device'))
    if (device === null || /\/usb\d+\//.test(device)) return []
    if (textOf(root, join(path, 'addr_assign_type')).trim() !== PERMANENT) return []
    const address = textOf(root, join(path, 'address')).trim().toLowerCase()
    return isGivenByMaker(address) ? [address] : []
  })
}

/** True if the first byte marks an address as unicast and globally assigned; those of virtual machines are local. */
function isGivenByMaker(address: string): boolean {
  if (!/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/.test(address) || /^(..)(:\1)*$/.test(address)) return false
  return (Number.parseInt(address.slice(0, 2), 16) & 0b11) === 0
}

/** Reads the id of machine-id(5), except that of an image, as in a container, or one lasting until a restart. */
function systemId(root: string): string[] {
  if (CONTAINER_MARKS.some((path) => existsSync(join(root, path)))) return []
  if (/ \/etc\/machine-id tmpfs /.test(textOf(root, 'proc/self/mounts'))) return []
  const id = textOf(root, 'etc/machine-id').trim()
  return /^[0-9a-f]{32}$/.test(id) ? serialIn(id) : []
}

function hashOf(sign: MachineId, value: string): string {
  return createHash('sha256').update(`cartbarn ${sign} ${value}`).digest('hex').slice(0, 32)
}

/** Returns an empty text if the file cannot be read. */
function textOf(root: string, path: string): string {
  try {
    return readFileSync(join(root, path), 'utf8')
  } catch {
    return ''
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).toSorted()
  } catch {
    return []
  }
}

function placeOf(path: string): string | null {
  try {
    return realpathSync(path)
  } catch {
    return null
  }
}
