import { useState } from 'preact/hooks'
import { shellTexts } from '#dashboard/texts/shell.ts'
import { useDashboard } from './dashboard-context.ts'

/** Banner of a page loaded over plain HTTP: it can move to TLS, or its tablet must first trust the gateway. */
export function TlsBanner() {
  const { tlsMove } = useDashboard()
  const texts = shellTexts()
  const [isPutOff, putOff] = useState(false)
  const { offer } = tlsMove
  if (offer === undefined || isPutOff) return null
  return (
    <div class="info-banner">
      <span>{offer.kind === 'move' ? texts.tlsReady : texts.tlsThere}</span>
      <span class="row">
        {offer.kind === 'move' ? (
          <button type="button" class="button" onClick={() => tlsMove.go()}>
            {texts.tlsGo}
          </button>
        ) : (
          <a class="button" href={offer.url}>
            {texts.tlsGuide}
          </a>
        )}
        <button type="button" class="button" onClick={() => putOff(true)}>
          {texts.later}
        </button>
      </span>
    </div>
  )
}
