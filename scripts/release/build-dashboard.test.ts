import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
let folder: string
let files: Map<string, Buffer>

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'cartbarn-build-'))
  files = build(ROOT, join(folder, 'built'))
})
after(() => rmSync(folder, { recursive: true }))

/** Builds the app of a checkout; the files by their names. */
function build(root: string, out: string): Map<string, Buffer> {
  const program = join(root, 'scripts/release/build-dashboard.ts')
  const { status, stderr } = spawnSync(process.execPath, [program, out, 'of the test'], { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  return new Map(
    readdirSync(out, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
      .map((path) => [relative(out, path), readFileSync(path)]),
  )
}

test('the same sources give the same bytes', () => {
  const again = build(ROOT, join(folder, 'built again'))
  assert.deepEqual([...again.keys()], [...files.keys()])
  for (const [name, bytes] of files) assert.ok(again.get(name)?.equals(bytes), name)
})

test('texts are there as browsers may take them', () => {
  const texts = [...files.keys()].filter((name) => /^(?!build\.json).*\.(js|css|html|svg|webmanifest)$/.test(name))
  assert.ok(texts.length > 3)
  for (const name of texts) {
    const [text, br, gz] = [files.get(name), files.get(`${name}.br`), files.get(`${name}.gz`)]
    assert.ok(text !== undefined)
    assert.deepEqual([br !== undefined, gz !== undefined], Array(2).fill(text.length >= 1024), name)
    if (br !== undefined) assert.ok(brotliDecompressSync(br).equals(text), name)
    if (gz !== undefined) assert.ok(gunzipSync(gz).equals(text), name)
  }
})

test('the page fits its policy: nothing stands in it, and all it names is there', () => {
  const page = String(files.get('index.html'))
  assert.doesNotMatch(page, /<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)/)
  const named = [...page.matchAll(/\s(?:src|href)="([^"]*)"/g)].map(([, address = '']) => address)
  assert.ok(named.length >= 5)
  for (const address of named) {
    assert.match(address, /^\/app\//)
    assert.ok(files.has(address.slice('/app/'.length)), address)
  }
})

test('it can be put on the first page of a tablet: the manifest names the app and icons that are there', () => {
  const { icons, ...manifest } = JSON.parse(String(files.get('manifest.webmanifest')))
  assert.deepEqual([manifest.start_url, manifest.scope, manifest.display], ['/app/', '/app/', 'standalone'])
  for (const { src, sizes, type } of icons) {
    const bytes = files.get(src.slice('/app/'.length))
    assert.ok(bytes !== undefined, src)
    if (type !== 'image/png') continue
    // where PNG has width and height
    assert.equal(`${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`, sizes, src)
  }
  // what Chrome asks for
  assert.deepEqual(
    ['192x192', '512x512'].filter((size) => icons.every((icon: { sizes: string }) => icon.sizes !== size)),
    [],
  )
})
