// SPDX-License-Identifier: Apache-2.0
//
// sigstore.js FOLDER: Sigstore's own verifier takes the bundles that make-exports left there, with the key of records and the trusted root of the
// log and nothing else, and none of their tampered twins.
'use strict';

const { createPublicKey } = require('node:crypto');
const { readFileSync } = require('node:fs');
const { bundleFromJSON } = require('@sigstore/bundle');
const { TrustedRoot } = require('@sigstore/protobuf-specs');
const { toSignedEntity, toTrustMaterial, Verifier } = require('@sigstore/verify');

const folder = process.argv[2];
const read = (name) => readFileSync(`${folder}/${name}`, 'utf8');
const bundles = read('bundles.jsonl').trimEnd().split('\n').map((line) => JSON.parse(line));
const root = JSON.parse(read('trusted_root.json'));
const rawBytes = createPublicKey(read('record.key.pub')).export({ type: 'spki', format: 'der' });
const hint = bundles[0].verificationMaterial.publicKey.hint;

function verify(bundle, trusted = root, keys = { [hint]: { rawBytes } }) {
        const verifier = new Verifier(toTrustMaterial(TrustedRoot.fromJSON(trusted), keys),
                                      { tlogThreshold: 1, ctlogThreshold: 0, timestampThreshold: 0 });

        verifier.verify(toSignedEntity(bundleFromJSON(bundle)));
}

const copy = (value) => JSON.parse(JSON.stringify(value));
const flip = (base64, at) => {
        const bytes = Buffer.from(base64, 'base64');

        bytes[Math.floor(bytes.length * at)] ^= 1;
        return bytes.toString('base64');
};
const entry = (bundle) => bundle.verificationMaterial.tlogEntries[0];
const other = bundles[bundles.length - 1];

// What is done to a bundle, and what its refusal says: one for another reason than its own would show nothing.
const twins = {
        'a flipped bit in the payload': [(b) => { b.dsseEnvelope.payload = flip(b.dsseEnvelope.payload, 0.5); }, /digest mismatch/],
        'another payload type': [(b) => { b.dsseEnvelope.payloadType = 'application/json'; }, /digest mismatch/],
        'a flipped bit in the signature': [(b) => { b.dsseEnvelope.signatures[0].sig = flip(b.dsseEnvelope.signatures[0].sig, 0.9); }, /signature mismatch/],
        'two signatures': [(b) => { b.dsseEnvelope.signatures.push(b.dsseEnvelope.signatures[0]); }, /invalid bundle/],
        'a flipped bit in the first hash': [(b) => { entry(b).inclusionProof.hashes[0] = flip(entry(b).inclusionProof.hashes[0], 0.3); }, /root hash/],
        'a flipped bit in the last hash': [(b) => { entry(b).inclusionProof.hashes[entry(b).inclusionProof.hashes.length - 1] = flip(entry(b).inclusionProof.hashes.at(-1), 0); }, /root hash/],
        'a hash too few': [(b) => { entry(b).inclusionProof.hashes.pop(); }, /hash count/],
        'the index of its neighbour': [(b) => { entry(b).inclusionProof.logIndex = String(entry(b).inclusionProof.logIndex ^ 1); }, /root hash/],
        'an index beyond the log': [(b) => { entry(b).inclusionProof.logIndex = '288'; }, /invalid index/],
        'a flipped bit in what the log holds': [(b) => { entry(b).canonicalizedBody = flip(entry(b).canonicalizedBody, 0.4); }, /./],
        'the entry of another record': [(b) => { b.verificationMaterial.tlogEntries = other.verificationMaterial.tlogEntries; }, /mismatch/],
        'a size that was not signed': [(b) => { entry(b).inclusionProof.checkpoint.envelope = entry(b).inclusionProof.checkpoint.envelope.replace('\n288\n', '\n287\n'); }, /checkpoint signature/],
        'a root that was not signed': [(b) => { const lines = entry(b).inclusionProof.checkpoint.envelope.split('\n'); lines[2] = flip(lines[2], 0.5); entry(b).inclusionProof.checkpoint.envelope = lines.join('\n'); }, /checkpoint signature/],
        'no entry in the log': [(b) => { b.verificationMaterial.tlogEntries = []; }, /tlog entries/],
        'the hint of another key': [(b) => { b.verificationMaterial.publicKey.hint = 'SHA256:other'; }, /key not found/],
};

function refused(name, run, why) {
        try {
                run();
        } catch (error) {
                if (!why.test(error.message))
                        throw new Error(`${name}: refused, but with "${error.message}"`);
                return;
        }
        throw new Error(`${name}: verified`);
}

bundles.forEach((bundle) => verify(bundle));
for (const bundle of [bundles[5], bundles[0]])
        for (const [name, [change, why]] of Object.entries(twins)) {
                const twin = copy(bundle);

                change(twin);
                refused(name, () => verify(twin), why);
        }

// Keys that are others' own.
const { publicKey } = require('node:crypto').generateKeyPairSync('ed25519');
const foreign = publicKey.export({ type: 'spki', format: 'der' });
refused('another key of records', () => verify(bundles[5], root, { [hint]: { rawBytes: foreign } }), /signature verification failed/);
const stranger = copy(root);
stranger.tlogs[0].publicKey.rawBytes = foreign.toString('base64');
refused('another key of the log', () => verify(bundles[5], stranger), /checkpoint signature/);
const renamed = copy(root);
renamed.tlogs[0].baseUrl = 'https://elsewhere.example';
refused('another name of the log', () => verify(bundles[5], renamed), /checkpoint signature/);

console.log(`${bundles.length} bundles verified, ${2 * Object.keys(twins).length + 3} twins refused, ${require('@sigstore/verify/package.json').version} on Node ${process.version}`);
