/** Where speech comes from: the microphone, or a recording that is played in its place. Both give 16 kHz on one channel. */

export const RATE_HZ = 16_000;
const PIECE = RATE_HZ / 50;
const SILENCE_SECONDS = 1.5;

/** Listens to the microphone until `stop` of the returned object is called. */
export async function listenToMicrophone(onSamples, { cancelsEcho }) {
  if (!navigator.mediaDevices) {
    throw new Error("This browser gives the microphone to pages over HTTPS only, or from localhost.");
  }
  const stream = await navigator.mediaDevices.getUserMedia({
    // Through loudspeakers a spoken reply would be heard as the caller's own words; cancelling it costs clearness. The
    // rest the recognizer does better without: it levels for itself, and suppressed noise takes speech with it.
    audio: { echoCancellation: cancelsEcho, noiseSuppression: false, autoGainControl: false, channelCount: 1 },
  });
  const context = new AudioContext({ sampleRate: RATE_HZ });
  await context.audioWorklet.addModule("/page/capture_worklet.js");
  const node = new AudioWorkletNode(context, "capture", { numberOfOutputs: 0 });
  node.port.onmessage = ({ data }) => onSamples(data);
  context.createMediaStreamSource(stream).connect(node);
  return {
    stop() {
      node.port.onmessage = null;
      for (const track of stream.getTracks()) track.stop();
      context.close();
    },
  };
}

/** Plays a file at the pace of speech, with silence behind it; one hears it too. */
export async function playRecording(file, onSamples, onEnd) {
  const context = new AudioContext({ sampleRate: RATE_HZ });
  let buffer;
  try {
    buffer = await context.decodeAudioData(await file.arrayBuffer());
  } catch {
    context.close();
    throw new Error(`${file.name} is no recording that this browser can play.`);
  }
  const mono = new Float32Array(buffer.length + SILENCE_SECONDS * RATE_HZ);
  for (let channel = 0; channel < buffer.numberOfChannels; channel++) {
    const samples = buffer.getChannelData(channel);
    for (let at = 0; at < samples.length; at++) mono[at] += samples[at] / buffer.numberOfChannels;
  }
  const source = new AudioBufferSourceNode(context, { buffer });
  source.connect(context.destination);
  source.start();
  const began = performance.now();
  let sent = 0;
  const timer = setInterval(() => {
    const due = Math.min(mono.length, ((performance.now() - began) / 1000) * RATE_HZ);
    for (; sent + PIECE <= due; sent += PIECE) onSamples(mono.slice(sent, sent + PIECE));
    if (sent + PIECE > mono.length) {
      stop();
      onEnd();
    }
  }, 10);

  function stop() {
    clearInterval(timer);
    if (context.state !== "closed") context.close();
  }
  return { stop };
}
