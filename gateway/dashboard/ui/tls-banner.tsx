import { useState } from 'preact/hooks'
import { shellTexts } from '#dashboard/texts/shell.ts'
import { Button, ButtonLink } from './button.tsx'
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
          <Button text={texts.tlsGo} onClick={() => tlsMove.go()} />
        ) : (
          <ButtonLink text={texts.tlsGuide} href={offer.url} />
        )}
        <Button text={texts.later} onClick={() => putOff(true)} />
      </span>
    </div>
  )
}
