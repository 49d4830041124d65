import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { skipReason } from './programs.ts'
import { findWebKit, WebKit } from './webkit.ts'

const skip = skipReason(findWebKit() === undefined ? 'WebKit (webkit2gtk-driver, xvfb) is not installed' : undefined)

const PAGE = `<!doctype html><html lang="en"><title>A page</title><main><h1>Hello</h1>
  <label>Name <input></label><button id="send">Send</button><p role="status"></p>
  <dialog aria-label="Sure?"><button id="yes">Send</button></dialog></main>
  <script>
    const [send, yes, dialog, field, result] = ['#send', '#yes', 'dialog', 'input', '[role=status]'].map((one) =>
    document.querySelector(one))
    send.onclick = () => dialog.showModal()
    yes.onclick = () => { dialog.close(); result.textContent = 'Sent by ' + field.value }
  </script></html>`

test('WebKit opens a page, types, presses the topmost element and sees the result', {
  skip,
}, async (t) => {
  const server = createServer((_, response) => response.setHeader('content-type', 'text/html').end(PAGE))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const webKit = await WebKit.start()
  t.after(() => webKit.stop())
  await webKit.go(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  await webKit.waitFor('heading', 'Hello')
  await webKit.type('textbox', 'Name', 'Ann')
  await webKit.click('button', 'Send')
  await webKit.waitFor('dialog', 'Sure?')
  await webKit.click('button', 'Send')
  await webKit.waitFor('status', 'Sent by Ann')
  await webKit.waitUntilGone('dialog', 'Sure?')
  assert.match(String(await webKit.run('return navigator.userAgent')), /AppleWebKit/)
})
