import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { HELP_PLACES } from '#dashboard/live/help-places.ts'
import { HELP_PAGES, helpAddress } from '#shared/help-pages.ts'
import { diskFolder } from '#shared/program-files.ts'
import { ok, scene } from '#testing/scene.ts'
import { DOCS, readHelp } from './help-pages.ts'
import { renderMarkdown } from './markdown.ts'
import { createHelpApi } from './routes.ts'

const { g } = scene()
const ask = (path: string, headers: Record<string, string> = {}) => fetch(`${g.http}${path}`, { headers })
const linksIn = (html: string) => [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, link = '']) => link)

test('every page is served without a key, has a strict policy and is revalidated each time', async () => {
  for (const name of ['', ...HELP_PAGES]) {
    const answer = await ask(`/help/${name}`)
    const { headers } = answer
    assert.deepEqual([answer.status, headers.get('content-type')], [200, 'text/html; charset=UTF-8'], name)
    const policy = headers.get('content-security-policy') ?? ''
    assert.match(policy, /^default-src 'none'; style-src 'sha256-\S+'; img-src 'self' data:; base-uri 'none'/)
    assert.doesNotMatch(policy, /script-src|unsafe/)
    assert.equal(headers.get('cache-control'), 'no-cache')
    const html = await answer.text()
    assert.doesNotMatch(html, /<script|\sstyle=|\son\w+=/)
    const again = await ask(`/help/${name}`, { 'if-none-match': headers.get('etag') ?? '' })
    assert.deepEqual([again.status, await again.text()], [304, ''], name)
  }
})

test('every link between the pages, and every picture, is served', async () => {
  const { pages } = readHelp(DOCS, renderMarkdown)
  assert.equal(pages.size, HELP_PAGES.length)
  const paths = new Set<string>()
  for (const [page, { html }] of pages)
    for (const link of linksIn(html)) {
      if (/^https?:/.test(link)) continue
      const { pathname, hash } = new URL(link, `http://x${helpAddress(page)}`)
      paths.add(pathname)
      const target = HELP_PAGES.find((one) => helpAddress(one) === pathname)
      if (hash === '' || target === undefined) continue
      const anchors = pages.get(target)?.anchors ?? []
      assert.ok(anchors.includes(decodeURIComponent(hash.slice(1))), `${page}: ${link}`)
    }
  assert.ok([...paths].some((path) => path.startsWith('/help/pictures/')))
  for (const path of paths) await ok(ask(path))
  for (const link of linksIn(await (await ask('/help/')).text())) if (link.startsWith('/help/')) await ok(ask(link))
})

test('files that the pages name and the gateway does not serve are in the docs folder', () => {
  const text = HELP_PAGES.map((page) => readFileSync(join(DOCS.path, `${page}.md`), 'utf8'))
    .join('\n')
    // code contains brackets too
    .replaceAll(/^\s*```.*?^\s*```/gms, '')
  const files = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, file = '']) => file)
  assert.ok(files.includes('faults.md') || files.includes('performance.md'))
  assert.deepEqual(
    files.filter((file) => !existsSync(join(DOCS.path, file))),
    [],
  )
})

test('every help target of the app exists', () => {
  const { pages } = readHelp(DOCS, renderMarkdown)
  const missing = Object.entries(HELP_PLACES).filter(([, place]) => {
    const [page, anchor] = place.split('#')
    const found = [...pages].find(([one]) => one === page)?.[1]
    return found === undefined || (anchor !== undefined && !found.anchors.includes(anchor))
  })
  assert.deepEqual(missing, [])
})

test('no other file of the folder is served', async () => {
  for (const path of [
    'faults',
    'dashboard.md',
    '../README',
    '..%2fREADME',
    '%2e%2e/README.md',
    'pictures/',
    'pictures/x.png',
    'pictures/..%2fdashboard.md',
    'pictures/__proto__',
    '__proto__',
    'dashboard/',
    'dashboard%00',
  ]) {
    const answer = await ask(`/help/${path}`)
    assert.ok([401, 404].includes(answer.status), `${path}: ${answer.status}`)
  }
  const post = await fetch(`${g.http}/help/dashboard`, { method: 'POST' })
  assert.equal(post.status, 401)
})

test('a folder without docs gives an empty list, and other docs are listed and escaped', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-help-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const bare = createHelpApi(diskFolder(join(folder, 'none')))
  await ok(bare.request('/help/'))
  writeFileSync(join(folder, 'alerts.md'), '# Loud\n\n<b>x</b>')
  const some = createHelpApi(diskFolder(folder))
  assert.match(await (await some.request('/help/alerts')).text(), /&lt;b&gt;x/)
  assert.match(await (await some.request('/help/')).text(), /Loud/)
})
