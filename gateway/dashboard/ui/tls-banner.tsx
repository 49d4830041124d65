import { useState } from 'preact/hooks'
import { shellTexts } from '#dashboard/texts/shell.ts'
import { useDashboard } from './dashboard-context.ts'

/** A page that came over plain HTTP can go over to TLS, or its tablet is to trust the gateway first. */
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
