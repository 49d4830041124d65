import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

const isAllowed = spawnSync('unshare', ['--mount', 'true']).status === 0
const skip = isAllowed ? false : 'mounts need root'
const place = new URL('./folder-place.ts', import.meta.url).href

/** Creates a mount namespace like systemd: read-only, except the data and the folders where disks are mounted. */
const SANDBOX = `
  mount --bind / /; mount -o remount,bind,ro /
  for path in "$DATA" /media /mnt; do mount --bind $path $path; mount -o remount,bind,rw $path; done`

/** Script that opens a folder for backups; prints `ok`, or the reason of the failure. */
const OPEN = `
  import { FolderPlace } from '${place}'
  const [path, mustBeMounted, dataDir] = process.argv.slice(1)
  const folder = new FolderPlace(path, { mustBeMounted: mustBeMounted === 'must', dataDir })
  try {
    await folder.open()
    await folder.write('a', Buffer.from('a'))
    console.log('ok')
  } catch (error) { console.log(error.message) }`

interface Trial {
  /** Shell commands before the attempt; $DATA and $DISK are folders. */
  mounts: string
  path: string
  must?: boolean
  message: RegExp
}

const NONE = /^no disk is mounted at /
const trials: Record<string, Trial> = {
  'an empty folder for disks': { mounts: 'mkdir /media/stick', path: '/media/stick/cartbarn', message: NONE },
  'a folder for disks that is not there': { mounts: '', path: '/mnt/stick', message: NONE },
  'a stick': {
    mounts: 'mkdir /media/stick; mount -t tmpfs x /media/stick',
    path: '/media/stick/cartbarn',
    message: /^ok$/,
  },
  'a stick, without a sandbox': {
    mounts: 'mkdir /media/stick; mount -t tmpfs x /media/stick',
    path: '/media/stick/cartbarn',
    message: /^ok$/,
  },
  'a stick that is taken out again': {
    mounts: 'mkdir /media/stick; mount -t tmpfs x /media/stick; umount /media/stick',
    path: '/media/stick/cartbarn',
    message: NONE,
  },
  'a folder of the card shown there': {
    mounts: 'mkdir /media/stick; mount --bind "$DISK" /media/stick',
    path: '/media/stick/cartbarn',
    message: NONE,
  },
  'a stick below another folder that was mounted over it': {
    mounts:
      'mkdir -p /media/stick/in; mount -t tmpfs x /media/stick/in; mount --bind "$DATA" /media/stick; mkdir ' +
      '/media/stick/in',
    path: '/media/stick/in',
    message: NONE,
  },
  'a name with a space': {
    mounts: 'mkdir "/media/my stick"; mount -t tmpfs x "/media/my stick"',
    path: '/media/my stick/cartbarn',
    message: /^ok$/,
  },
  'another folder that the sandbox opens, if a disk must be there': {
    mounts: 'mount --bind "$DISK" "$DISK"; mount -o remount,bind,rw "$DISK"',
    path: '$DISK/cartbarn',
    must: true,
    message: NONE,
  },
  'the same, if none must be': {
    mounts: 'mount --bind "$DISK" "$DISK"; mount -o remount,bind,rw "$DISK"',
    path: '$DISK/cartbarn',
    message: /^ok$/,
  },
  'another disk elsewhere': {
    mounts: 'mount -t tmpfs x "$DISK"',
    path: '$DISK/cartbarn',
    must: true,
    message: /^ok$/,
  },
  'the disk of the data, if another one must be there': {
    mounts: 'mount -t tmpfs x "$DATA"; mkdir "$DATA/sets"',
    path: '$DATA/sets',
    must: true,
    message: NONE,
  },
  'a folder that the sandbox does not open': {
    mounts: '',
    path: '$DISK/sets',
    message: /is read-only for the service: sudo systemctl edit cartbarn.* ReadWritePaths=-\//,
  },
  'a folder that is there, which the sandbox does not open': {
    mounts: '',
    path: '$DISK',
    message: /is read-only for the service/,
  },
  'a stick that is read-only itself': {
    mounts: 'mkdir /media/stick; mount -t tmpfs -o ro x /media/stick',
    path: '/media/stick/cartbarn',
    message: /^\/media\/stick\/cartbarn: this user cannot write to it$/,
  },
  'a link on a stick': {
    mounts: 'mkdir /media/stick; mount -t tmpfs x /media/stick; ln -s "$DATA" /media/stick/cartbarn',
    path: '/media/stick/cartbarn',
    message: NONE,
  },
  'a link on a stick to another one': {
    mounts:
      'mkdir /media/stick; mount -t tmpfs x /media/stick; mkdir /media/stick/b; ln -s /media/stick/b /media/stick/a',
    path: '/media/stick/a',
    message: /is a link on that disk/,
  },
}

for (const [name, { mounts, path, must = false, message }] of Object.entries(trials))
  test(`where backups may go: ${name}`, { skip }, (t) => {
    const root = mkdtempSync(join(tmpdir(), 'cartbarn-mount-'))
    t.after(() => rmSync(root, { recursive: true, force: true }))
    // separate folders for disks, so that the test leaves nothing behind
    const script = `set -e; mkdir "$DATA" "$DISK" "$ROOT/media" "$ROOT/mnt"
      mount --bind "$ROOT/media" /media; mount --bind "$ROOT/mnt" /mnt
      ${name.includes('without a sandbox') ? '' : SANDBOX}
      ${mounts}
      exec "$NODE" --input-type=module -e "$OPEN" "${path}" ${must ? 'must' : 'may'} "$DATA"`
    const printed = execFileSync('unshare', ['--mount', 'sh', '-c', script], {
      encoding: 'utf8',
      env: {
        ...process.env,
        OPEN,
        NODE: process.execPath,
        ROOT: root,
        DATA: join(root, 'data'),
        DISK: join(root, 'disk'),
      },
    })
    assert.match(printed.trim(), message)
  })
