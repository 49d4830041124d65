import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isOtherPage } from './page-files.ts'

const PAGE = `<!doctype html><link rel="stylesheet" crossorigin href="/app/assets/index-C0FFEE.css" />
<script type="module" crossorigin src="/app/assets/index-DECADE.js"></script><div id="app"></div>`
const FILES = ['/app/assets/index-DECADE.js', '/app/assets/index-C0FFEE.css']

test('a page that names the same files is the same, whatever its other contents', () => {
  assert.equal(isOtherPage(PAGE, FILES), false)
  assert.equal(isOtherPage(PAGE.replace('index-DECADE', 'index-0A0A0A'), FILES), true)
  assert.equal(isOtherPage(PAGE.replace('index-C0FFEE', 'index-0A0A0A'), FILES), true)
})

test('a page that is not the app is not offered as an update', () => {
  assert.equal(isOtherPage('<h1>The app is not built</h1>', FILES), false)
  assert.equal(isOtherPage('', FILES), false)
  assert.equal(isOtherPage(PAGE, []), false)
})
