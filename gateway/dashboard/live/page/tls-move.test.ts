import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { TlsMove } from './tls-move.ts'

const TLS = { url: 'https://clubhouse:8080', guide: 'http://clubhouse:8080/trust' }

/** Creates a page in a browser that does or does not trust the gateway. */
function pageOf({ isPlain = true, isTrusted = true, isIdle = true } = {}) {
  const browser = { isTrusted, isIdle, went: [] as string[], asked: 0 }
  const move = new TlsMove({
    isPlain: () => isPlain,
    isIdle: () => browser.isIdle,
    go: (url) => void browser.went.push(url),
    reaches: async () => {
      browser.asked++
      return browser.isTrusted
    },
  })
  return { move, browser }
}

test('an idle page moves to TLS automatically, one in use when its user chooses to', async () => {
  const idle = pageOf()
  idle.move.know(TLS)
  assert.equal(idle.move.offer, undefined)
  await setImmediate()
  assert.deepEqual(idle.browser.went, [TLS.url])
  const used = pageOf({ isIdle: false })
  used.move.know(TLS)
  await setImmediate()
  assert.deepEqual([used.move.offer, used.browser.went], [{ kind: 'move' }, []])
  used.move.go()
  assert.deepEqual(used.browser.went, [TLS.url])
})

test('a browser that does not trust the gateway gets the guide, and moves once it does', async () => {
  const { move, browser } = pageOf({ isTrusted: false })
  move.know(TLS)
  await setImmediate()
  assert.deepEqual([move.offer, browser.went], [{ kind: 'guide', url: TLS.guide }, []])
  move.know(TLS)
  await setImmediate()
  assert.equal(browser.asked, 1, 'what is known already is not looked at with each answer')
  browser.isTrusted = true
  await move.check()
  assert.deepEqual(browser.went, [TLS.url])
})

test('without a guide, without TLS, and over TLS no move is offered', async () => {
  const own = pageOf({ isTrusted: false })
  own.move.know({ ...TLS, guide: null })
  const off = pageOf()
  off.move.know(undefined)
  const secure = pageOf({ isPlain: false })
  secure.move.know(TLS)
  await setImmediate()
  for (const { move, browser } of [own, off, secure]) assert.deepEqual([move.offer, browser.went], [undefined, []])
  assert.equal(secure.browser.asked, 0)
  own.move.know(undefined)
  await own.move.check()
  assert.equal(own.move.offer, undefined)
})
